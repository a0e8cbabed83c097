//! As replaced.c; what rustc leaves out it says, what it passes in a reference's place it does not.
use std::hint::black_box;

struct Node {
    next: *const Node,
    value: u64,
}
struct Pair {
    first: u32,
    second: u32,
}

#[inline(never)]
fn behind(mut node: &Node) -> u64 {
    node = unsafe { &*node.next };
    black_box(node);
    node as *const Node as u64
}

#[inline(never)]
fn behind_kept(mut node: &Node) -> u64 {
    node = unsafe { &*node.next };
    black_box(&mut node);
    node.value
}

#[inline(never)]
fn sum(pair: &Pair, more: u64) -> u64 {
    black_box(pair);
    (pair.first + pair.second) as u64 + more
}

fn main() {
    let count = std::env::args().count() as u64;
    let last = Node { next: std::ptr::null(), value: 5 + count };
    let first = Node { next: &last, value: 4 + count };
    let pair = Pair { first: count as u32, second: 3 };
    println!("> behind(node={:p})", &first);
    println!("< behind = {}", behind(&first));
    println!("> behind_kept(node={:p})", &first);
    println!("< behind_kept = {}", behind_kept(&first));
    println!("> sum(pair={:p}, more={})", &pair, first.value);
    println!("< sum = {}", sum(&pair, first.value));
}

//! Functions that nobody else can call: what callers use of results is there, and what they do not use may not be; and
//! parameters whose address is taken lie in the frame.
use std::hint::black_box;

#[inline(never)]
fn is_even(value: u64) -> bool {
    black_box(value) % 2 == 0
}

#[inline(never)]
fn half(value: f64) -> f64 {
    black_box(value) / 2.0
}

#[inline(never)]
fn find(values: &[u32], wanted: u32) -> Option<usize> {
    values.iter().position(|&value| black_box(value) == wanted)
}

#[inline(never)]
fn unused(value: u64) -> u64 {
    black_box(value) * 3
}

#[inline(never)]
fn always(value: u64) -> u64 {
    black_box(value);
    7
}

#[inline(never)]
fn by_address(id: u64, text: &str, share: f64) -> usize {
    black_box(&id);
    black_box(&share);
    black_box(&text).len()
}

// The first parameter is left out, and so the second one takes its register.
#[inline(never)]
fn changed(always: u64, id: u64) -> u64 {
    black_box(&id);
    always + id
}

fn main() {
    let values = [3, 1, 4, 1, 5];
    for round in 0..10u64 {
        let even = is_even(round);
        let found = find(&values, round as u32);
        let halved = half(round as f64);
        unused(round);
        let text = if even { "even" } else { "odd" };
        let length = by_address(round * 1000, text, halved) as u64 + changed(0, round) - round;
        println!("{} {} {:?} {} {}", text, halved, found, always(round), length);
    }
}

// Calls that are left by a panic which is caught. What is called next, by a function that has much on its stack, which it
// does not write to, lies further down than what was left.
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::panic;

#[inline(never)]
fn called_next(number: i32) -> i32 {
    black_box(number)
}

#[inline(never)]
fn leaves(depth: i32) -> i32 {
    let room = [depth; 16];
    black_box(&room);
    assert!(depth != 0, "it is left");
    black_box(leaves(depth - 1)) + room[3]
}

#[inline(never)]
fn between(number: i32) -> i32 {
    let mut room = MaybeUninit::<[i32; 2048]>::uninit();
    black_box(room.as_mut_ptr());
    let found = called_next(number);
    black_box(room.as_mut_ptr());
    found + 2 * number
}

#[inline(never)]
fn comes_back(number: i32) -> i32 {
    let left = panic::catch_unwind(|| leaves(3));
    black_box(left.is_err());
    between(number)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let sum: i32 = (0..100).map(|number| comes_back(number) - 2 * number).sum();
    println!("sum {}", 2 * sum);
}

//! Results of functions that nobody else can call: what callers use is there, and what they do not use may not be.
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

fn main() {
    let values = [3, 1, 4, 1, 5];
    for round in 0..10u64 {
        let even = is_even(round);
        let found = find(&values, round as u32);
        let halved = half(round as f64);
        unused(round);
        println!("{} {} {:?} {}", if even { "even" } else { "odd" }, halved, found, always(round));
    }
}

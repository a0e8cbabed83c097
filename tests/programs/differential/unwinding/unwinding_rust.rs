//! Panics in Rust: caught, resumed, in threads, in destructors' scopes; iterators, closures, trait objects.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

static DROPPED: AtomicI64 = AtomicI64::new(0);

struct Guard(i64);

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Ordering::Relaxed);
    }
}

trait Shape {
    fn area(&self) -> i64;
}
struct Square(i64);
struct Bad;
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> i64 {
        self.0 * self.0
    }
}
impl Shape for Bad {
    #[inline(never)]
    fn area(&self) -> i64 {
        let _guard = Guard(1);
        panic!("no area")
    }
}

#[inline(never)]
fn total(shapes: &[Box<dyn Shape>]) -> i64 {
    let _guard = Guard(10);
    shapes.iter().map(|shape| shape.area()).sum()
}

#[inline(never)]
fn resumed(shapes: &[Box<dyn Shape>]) -> i64 {
    let _guard = Guard(100);
    match catch_unwind(AssertUnwindSafe(|| total(shapes))) {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

#[inline(never)]
fn shapes(count: i64) -> Vec<Box<dyn Shape>> {
    (0..count).map(|n| if n % 7 == 6 { Box::new(Bad) as Box<dyn Shape> } else { Box::new(Square(n)) }).collect()
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut sum = 0;
    for count in 0..60 {
        sum += catch_unwind(|| resumed(&shapes(count % 12))).unwrap_or(-1);
        sum += thread::spawn(move || resumed(&shapes(count % 9))).join().unwrap_or(-2);
    }
    println!("{} {}", sum, DROPPED.load(Ordering::Relaxed));
}

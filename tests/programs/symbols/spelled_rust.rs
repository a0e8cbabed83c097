// Every kind of name of Rust's that a pattern may mean.
use std::fmt;
use std::future::Future;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

struct Point(u32);

trait Shape {
    fn area(&self) -> u64;
    fn twice(&self) -> u64 {
        self.area() * 2
    }
}

impl Point {
    #[inline(never)]
    fn new(x: u32) -> Point {
        Point(x)
    }
}

impl Shape for Point {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

struct Shelf<T> {
    item: T,
}

impl<T: Copy + Into<u64>> Shelf<T> {
    #[inline(never)]
    fn take(&self) -> u64 {
        self.item.into()
    }
}

mod shapes {
    pub mod round {
        #[inline(never)]
        pub fn area(radius: i64) -> i64 {
            radius * radius
        }
    }
}

#[inline(never)]
fn generic<T: Into<u64>>(value: T) -> u64 {
    value.into()
}

#[inline(never)]
fn closures(start: i32) -> i32 {
    let add = |x: i32| x + start;
    let nested = |x: i32| (|y: i32| y * x)(3);
    add(1) + nested(2)
}

#[inline(never)]
async fn later(value: u32) -> u32 {
    value + 1
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(|_| idle(), |_| {}, |_| {}, |_| {});

fn idle() -> RawWaker {
    RawWaker::new(std::ptr::null(), &VTABLE)
}

fn main() {
    let point = Point::new(3);
    let waker = unsafe { Waker::from_raw(idle()) };
    let ready = match Box::pin(later(4)).as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(value) => value,
        Poll::Pending => 0,
    };
    let sum = point.twice() + Shelf { item: 7u32 }.take() + Shelf { item: 7u8 }.take() + generic(1u8) + generic(2u32);
    println!("{} {} {} {} {}", point, sum, shapes::round::area(11), closures(5), ready);
}

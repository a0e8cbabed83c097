// Names and arguments of Rust functions.
use std::fmt;

pub struct Point {
    x: u32,
    y: u32,
}

impl Point {
    #[inline(never)]
    fn new(x: u32, y: u32) -> Point {
        Point { x, y }
    }
    #[inline(never)]
    fn scaled(&self, factor: u64) -> u64 {
        (self.x + self.y) as u64 * factor
    }
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.x)
    }
}

mod shapes {
    pub mod round {
        #[inline(never)]
        pub fn area(radius: i64, _: i32, precise: bool) -> i64 {
            radius * radius * if precise { 3 } else { 4 }
        }
    }
}

#[inline(never)]
fn generic<T: Into<u64>>(value: T) -> u64 {
    value.into()
}

#[inline(never)]
fn text(words: &str, count: usize, list: &[u16], letter: char) -> usize {
    words.len() + count + list.len() + letter as usize
}

#[inline(never)]
fn tuple((a, b): (i32, i32), c: i64, name: String) -> i64 {
    (a + b) as i64 + c + name.len() as i64
}

#[inline(never)]
fn floats(a: f64, n: u8, b: f32, m: i16) -> f64 {
    a + b as f64 + n as f64 + m as f64
}

fn main() {
    let point = Point::new(3, 4);
    let closure = |x: i32| x + 1;
    println!("{} {} {} {}", point, point.scaled(5), shapes::round::area(11, 12, true), generic(13u8));
    println!("{} {}", text("words", 21, &[1, 2, 3], 'z'), tuple((31, 32), 33, String::from("name")));
    println!("{} {}", floats(1.5, 41, 2.5, 42), closure(51));
}

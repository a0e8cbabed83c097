// What of Rust can be written. Prints "ready", then what it has whenever ASKED changes.
use std::ptr::{addr_of, read_volatile};
use std::sync::atomic::{AtomicI32, Ordering};

#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Colour {
    Red = 1,
    Blue = 3,
}

#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub x: i32,
    pub y: f64,
}

static mut COUNT: i32 = 120;
static mut BYTE: u8 = 200;
static mut IS_ON: bool = true;
static mut LEVEL: f32 = 0.5;
static mut LETTER: char = 'q';
static mut COLOUR: Colour = Colour::Red;
static mut POINT: Point = Point { x: 1, y: 2.5 };
static mut ROW: [u16; 3] = [1, 2, 3];
static mut HUGE: u128 = 1;
static CALLS: AtomicI32 = AtomicI32::new(4);
static ASKED: AtomicI32 = AtomicI32::new(0);
static LIMIT: i32 = 9;

fn print() {
    unsafe {
        println!(
            "{} {} {} {} {} {:?} {:?} {:?} {} {} {}",
            read_volatile(addr_of!(COUNT)),
            read_volatile(addr_of!(BYTE)),
            read_volatile(addr_of!(IS_ON)),
            read_volatile(addr_of!(LEVEL)),
            read_volatile(addr_of!(LETTER)),
            read_volatile(addr_of!(COLOUR)),
            read_volatile(addr_of!(POINT)),
            read_volatile(addr_of!(ROW)),
            read_volatile(addr_of!(HUGE)),
            CALLS.load(Ordering::Relaxed),
            read_volatile(addr_of!(LIMIT)),
        );
    }
}

fn main() {
    unsafe {
        if std::env::args().count() > 9 {
            COLOUR = Colour::Blue;
        }
    }
    println!("ready");
    let mut seen = 0;
    loop {
        let asked = ASKED.load(Ordering::Relaxed);
        if asked != seen {
            seen = asked;
            print();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

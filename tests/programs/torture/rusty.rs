//! Panics that are caught, threads, texts and locks, until SIGUSR1.
use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering::SeqCst};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[no_mangle]
pub static gRounds: AtomicI64 = AtomicI64::new(0);
#[no_mangle]
pub static gCounted: AtomicI64 = AtomicI64::new(0);
#[no_mangle]
pub static gMagic: AtomicU32 = AtomicU32::new(0x5eed);
#[no_mangle]
pub static gWritten: AtomicI32 = AtomicI32::new(7);
#[no_mangle]
pub static gEcho: AtomicI32 = AtomicI32::new(0);
static TOLD: AtomicI32 = AtomicI32::new(0);
static FAILURES: AtomicI32 = AtomicI32::new(0);
static NAMES: Mutex<BTreeMap<String, i64>> = Mutex::new(BTreeMap::new());

extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

extern "C" fn on_told(number: i32) {
    TOLD.store(number, SeqCst);
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn counted(value: i64) -> i64 {
    gCounted.fetch_add(1, SeqCst);
    value + 1
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn never_called(value: i64) -> i64 {
    std::hint::black_box(value) + 2
}

#[inline(never)]
fn recursive(depth: i64, value: i64) -> i64 {
    std::hint::black_box(if depth > 0 { 1 + recursive(depth - 1, value) } else { value })
}

#[inline(never)]
fn panics(depth: i64, text: String) -> i64 {
    let kept = text.clone();
    if depth == 0 {
        panic!("{}", text);
    }
    panics(depth - 1, text) + kept.len() as i64
}

#[inline(never)]
fn caught(value: i64) -> i64 {
    match panic::catch_unwind(|| panics(5, value.to_string())) {
        Ok(_) => -1,
        Err(cause) => cause.downcast_ref::<String>().map_or(-2, |text| text.parse().unwrap_or(-3)),
    }
}

#[inline(never)]
fn threaded(value: i64) -> i64 {
    let thread = std::thread::spawn(move || counted(recursive(6, value)));
    thread.join().unwrap_or(-1)
}

fn check(what: &str, is: i64, should_be: i64) {
    if is != should_be {
        println!("wrong {}: {}, not {}, in round {}", what, is, should_be, gRounds.load(SeqCst));
        FAILURES.fetch_add(1, SeqCst);
    }
}

fn round_of(number: i64) -> i64 {
    let mut names = NAMES.lock().unwrap();
    names.insert(format!("name {}", number % 50), number);
    check("name", names[&format!("name {}", number % 50)], number);
    drop(names);
    caught(number) + threaded(number) + number
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seconds: f64 = arguments.get(1).map_or(10.0, |text| text.parse().unwrap());
    let pause: u64 = arguments.get(2).map_or(1000, |text| text.parse().unwrap());
    let begun = Instant::now();
    let mut sum = 0i64;
    unsafe { signal(10, on_told) };
    panic::set_hook(Box::new(|_| {}));
    println!("ready");
    while TOLD.load(SeqCst) == 0 && begun.elapsed().as_secs_f64() < seconds {
        let number = gRounds.load(SeqCst);
        let result = counted(round_of(number));
        check("round", result, 3 * number + 8);
        sum += result;
        gRounds.store(number + 1, SeqCst);
        gEcho.store(gWritten.load(SeqCst), SeqCst);
        std::thread::sleep(Duration::from_micros(pause));
    }
    if gMagic.load(SeqCst) != 0x5eed {
        never_called(1);
    }
    let failures = FAILURES.load(SeqCst);
    println!(
        "end rounds {} sum {} failures {} counted {} handled 0 plugged 0 written {} told {}",
        gRounds.load(SeqCst), sum, failures, gCounted.load(SeqCst), gWritten.load(SeqCst), (TOLD.load(SeqCst) != 0) as i32
    );
    std::process::exit(if failures != 0 { 3 } else { 5 });
}

// A thread-local value of two threads and the main one; "ready" when all have theirs.
use std::cell::Cell;
use std::sync::Barrier;

extern "C" {
    fn gettid() -> i32;
}

thread_local! {
    static LOCAL: Cell<i32> = const { Cell::new(5) };
}
static mut TIDS: [i32; 2] = [0; 2];
static BARRIER: Barrier = Barrier::new(3);

fn run(index: usize) {
    LOCAL.set(100 + index as i32);
    unsafe { TIDS[index] = gettid() };
    BARRIER.wait();
    loop {
        std::thread::park();
    }
}

fn main() {
    for index in 0..2 {
        std::thread::spawn(move || run(index));
    }
    BARRIER.wait();
    println!("ready {}", LOCAL.get());
    loop {
        std::thread::park();
    }
}

// Panics through three frames, caught and not caught; generic functions and a trait object.
use std::panic;

mod engine {
    pub trait Voice {
        fn render(&self, frame: i64) -> i64;
    }
    pub struct Sine(pub i64);

    impl Voice for Sine {
        #[inline(never)]
        fn render(&self, frame: i64) -> i64 {
            checked(self.0 + frame)
        }
    }

    #[inline(never)]
    pub fn checked(value: i64) -> i64 {
        assert!(value % 2 == 0, "odd value {value}");
        value
    }

    #[inline(never)]
    pub fn twice<T: Copy + std::ops::Add<Output = T>>(value: T) -> T {
        value + value
    }
}

#[inline(never)]
fn guarded(voice: &dyn engine::Voice, frame: i64) -> i64 {
    panic::catch_unwind(panic::AssertUnwindSafe(|| voice.render(frame))).unwrap_or(-1)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let sum: i64 = (0..1000).map(|frame| guarded(&engine::Sine(0), frame)).sum();
    println!("{sum} {} {}", engine::twice(21), engine::twice(1.5));
    if std::env::args().count() > 1 {
        engine::checked(1);
    }
}

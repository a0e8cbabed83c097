//! Types that are called as those of the library are, and are not made as these. To be compiled as the crate `alloc`.
#![allow(unknown_lints, static_mut_refs, dead_code)]

pub mod vec {
    pub struct Vec<T> {
        pub content: T,
        pub len: usize,
    }
}
pub mod string {
    pub struct String {
        pub vec: u32,
    }
}
pub mod rc {
    pub struct Rc<T> {
        pub ptr: T,
    }
}

#[used]
static mut VECTOR: vec::Vec<i32> = vec::Vec { content: 5, len: 1 << 40 };
#[used]
static mut TEXT: string::String = string::String { vec: 6 };
#[used]
static mut COUNTED: rc::Rc<u8> = rc::Rc { ptr: 7 };

fn main() {
    unsafe {
        VECTOR.content += std::env::args().count() as i32 - 1;
        println!("{} {} {}", VECTOR.content, TEXT.vec, COUNTED.ptr);
    }
    println!("ready");
    loop {
        std::thread::park();
    }
}

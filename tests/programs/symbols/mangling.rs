// Names of every kind that Rust mangles: generics of all types and constants, closures, implementations, other alphabets.

mod shapes {
    pub trait Shape { fn area(&self) -> f64; fn twice(&self) -> f64 { self.area() * 2.0 } }
    pub struct Square(pub f64);
    impl Square { #[inline(never)] pub fn side(&self) -> f64 { self.0 } }
    impl Shape for Square { #[inline(never)] fn area(&self) -> f64 { self.side() * self.0 } }
    pub struct Stack<T> { pub items: Vec<T> }
    impl<T: Clone> Stack<T> { #[inline(never)] pub fn push(&mut self, item: T) { self.items.push(item) } }
    impl<T> Shape for Stack<T> { #[inline(never)] fn area(&self) -> f64 { self.items.len() as f64 } }
    impl<'a> Shape for &'a [u8] { #[inline(never)] fn area(&self) -> f64 { self.len() as f64 } }
}
use shapes::{Shape, Square, Stack};
#[inline(never)] fn map<T, U, F: Fn(T) -> U>(value: T, f: F) -> U { f(value) }
#[inline(never)] fn fixed<const N: usize, const B: bool, const C: char, const I: i32>() -> usize { if B { N } else { C as usize + I as usize } }
#[inline(never)] fn boxed(f: Box<dyn Fn(i32) -> i32>) -> i32 { f(3) }
#[inline(never)] fn gen<T>(value: &T) -> usize { std::mem::size_of_val(value) }
#[inline(never)] fn größe(x: i32) -> i32 { x + 1 }
mod 東京 { #[inline(never)] pub fn 駅(x: i32) -> i32 { x + 2 } }
extern "C" fn callback(x: i32) -> i32 { x }
fn main() {
    let s = Square(2.0);
    println!("{} {}", s.area(), s.twice());
    let mut k = Stack { items: vec![1] }; k.push(2);
    println!("{} {}", k.area(), (&[1u8, 2][..]).area());
    let y = 5;
    println!("{}", map(3, |x: i32| x + y));
    println!("{}", map("a", |x: &str| { let inner = |z: usize| z + 1; inner(x.len()) }));
    println!("{} {}", fixed::<3, true, 'x', -5>(), fixed::<4, false, '\'', 7>());
    println!("{}", boxed(Box::new(move |v| v + y)));
    println!("{}", gen(&(1i8, "x", [1u16; 3], callback as extern "C" fn(i32) -> i32)));
    println!("{}", gen::<*const dyn Shape>(&(&s as *const dyn Shape)));
    println!("{}", gen::<fn(&u8, &mut [char]) -> bool>(&((|_, _| true) as fn(&u8, &mut [char]) -> bool)));
    println!("{}", gen::<unsafe fn(*mut u8)>(&((|_| ()) as unsafe fn(*mut u8))));
    println!("{}", gen::<Box<dyn for<'a> Fn(&'a str) -> &'a str + Send>>(&(Box::new(str::trim) as Box<dyn for<'a> Fn(&'a str) -> &'a str + Send>)));
    println!("{}", gen::<Option<Box<dyn Iterator<Item = u8>>>>(&None));
    println!("{} {}", größe(1), 東京::駅(1));
}

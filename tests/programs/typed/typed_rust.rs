//! What Rust passes and returns, as far as its calling convention can be relied on.

#[derive(Clone, Copy)]
#[allow(dead_code)]
enum Mode {
    Off,
    Once,
    Loop,
}

#[allow(dead_code)]
struct Big {
    values: [u64; 5],
}

mod typed {
    use super::{Big, Mode};

    #[inline(never)]
    pub fn numbers(a: i8, b: u64, c: bool, d: char, e: f32, f: f64, g: usize) -> f64 {
        println!("> numbers(a={a}, b={b}, c={c}, d='{d}', e={e:?}, f={f:?}, g={g})");
        f + 1.0
    }

    #[inline(never)]
    pub fn mode(m: Mode, n: i32) -> Mode {
        println!("> mode(m=Loop({}), n={n})", m as u8);
        Mode::Once
    }

    #[inline(never)]
    pub fn text<'a>(s: &'a str, owned: &String, n: u16) -> &'a str {
        println!("> text(s={s:?}, owned={owned:?}, n={n})");
        &s[1..]
    }

    #[inline(never)]
    pub fn string(s: String, x: f32) -> String {
        println!("> string(s={s:?}, x={x:?})");
        s + "!"
    }

    #[inline(never)]
    pub fn addresses(slice: &[i32], n: &mut i32, big: &Big) -> bool {
        println!("> addresses(slice={:p}, n={n:p}, big={big:p})", slice.as_ptr());
        *n > 0
    }

    #[inline(never)]
    pub fn letter(c: char) -> char {
        println!("> letter(c='{c}')");
        'z'
    }
}

fn main() {
    let one = std::env::args().count() as i32;
    println!("< numbers = {:?}", typed::numbers(-3, u64::MAX, one > 0, 'q', 0.5, 2.5, 77));
    let mode = typed::mode(if one > 0 { Mode::Loop } else { Mode::Off }, -one);
    println!("< mode = Once({})", mode as u8);
    println!("< text = {:?}", typed::text("lead", &String::from("bass"), 9));
    println!("< string = {:?}", typed::string(String::from("long enough to be on the heap"), -0.5));
    let mut n = one;
    println!("< addresses = {}", typed::addresses(&[1, 2, 3], &mut n, &Big { values: [1; 5] }));
    println!("< letter = '{}'", typed::letter('a'));
}

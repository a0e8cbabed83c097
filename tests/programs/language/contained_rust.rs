// Options and variants, each condition as Strobe takes it and as the compiler does.
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;

pub enum Shape {
    Nothing,
    Circle(f64),
    Box { width: i32, height: i32 },
}

pub struct Node {
    pub key: i32,
    pub next: Option<Box<Node>>,
}

pub struct Shop {
    pub small: Option<i32>,
    pub text: Option<String>,
    pub boxed: Option<Box<Node>>,
    pub number: Option<u64>,
    pub shape: Shape,
    pub result: Result<i32, String>,
    pub list: Vec<i32>,
    pub queue: VecDeque<i32>,
    pub hashed: HashMap<i32, i32>,
    pub node: Node,
}

macro_rules! conditions {
    ($run:ident, $shop:ident, $n:ident) => {
        $run!(0, "shop.small", $shop.small.is_some());
        $run!(1, "!shop.small", $shop.small.is_none());
        $run!(2, "shop.small == null", $shop.small.is_none());
        $run!(3, "shop.small && shop.small.Some == n", $shop.small == Some($n));
        $run!(4, "shop.text", $shop.text.is_some());
        $run!(5, "shop.text && shop.text.Some == \"two\"", $shop.text.as_deref() == Some("two"));
        $run!(6, "shop.boxed", $shop.boxed.is_some());
        $run!(7, "shop.boxed && shop.boxed.Some.key > n", $shop.boxed.as_ref().is_some_and(|b| b.key > $n));
        $run!(8, "shop.number != null", $shop.number.is_some());
        $run!(9, "has(shop.shape.Circle)", matches!($shop.shape, Shape::Circle(_)));
        $run!(10, "has(shop.shape.Box)", matches!($shop.shape, Shape::Box { .. }));
        $run!(11, "!has(shop.shape.Box) && !has(shop.shape.Circle)", matches!($shop.shape, Shape::Nothing));
        $run!(12, "has(shop.shape.Box) && shop.shape.Box.width > n",
              matches!($shop.shape, Shape::Box { width, .. } if width > $n));
        $run!(13, "has(shop.result.Ok) && shop.result.Ok == n", $shop.result == Ok($n));
        $run!(14, "has(shop.result.Err)", $shop.result.is_err());
        $run!(15, "shop.list contains n", $shop.list.contains(&$n));
        $run!(16, "has(shop.hashed, n - 3)", $shop.hashed.contains_key(&($n - 3)));
        $run!(17, "shop.hashed contains n", $shop.hashed.contains_key(&$n));
        $run!(18, "size(shop.list) && last(shop.list) == n", $shop.list.last() == Some(&$n));
        $run!(19, "size(shop.queue) && last(shop.queue) == n", $shop.queue.back() == Some(&$n));
        $run!(20, "shop.node.next", $shop.node.next.is_some());
        $run!(21, "has(shop.node.next.Some.key)", $shop.node.next.is_some());
        $run!(22, "maybe", maybe_of($n).is_some());
        $run!(23, "maybe && maybe.Some == 4", maybe_of($n) == Some(4));
    };
}

fn maybe_of(n: i32) -> Option<i32> {
    if n % 2 == 0 { Some(n) } else { None }
}

#[inline(never)]
#[no_mangle]
pub fn check(shop: &Shop, n: i32, maybe: &Option<i32>) {
    black_box((shop.list.len(), n, maybe));
}

fn main() {
    let mut held = [0; 24];
    for i in 0..60 {
        let n = i % 6;
        let shop = Shop {
            small: if i % 2 == 0 { Some(i % 3) } else { None },
            text: if i % 3 == 0 { Some(if i % 2 == 0 { "two" } else { "one" }.to_string()) } else { None },
            boxed: if i % 4 == 0 { Some(Box::new(Node { key: i % 7, next: None })) } else { None },
            number: if i % 5 == 0 { Some(u64::MAX) } else { None },
            shape: match i % 3 {
                0 => Shape::Nothing,
                1 => Shape::Circle(f64::from(i)),
                _ => Shape::Box { width: i % 5, height: 1 },
            },
            result: if i % 4 == 1 { Err("no".to_string()) } else { Ok(i % 5) },
            list: (0..i % 5).collect(),
            queue: (0..i % 7).collect(),
            hashed: (0..i % 4).map(|x| (x * 3, x)).collect(),
            node: Node { key: 1, next: if i % 2 == 1 { Some(Box::new(Node { key: 2, next: None })) } else { None } },
        };
        if let Shape::Box { width, height } = shop.shape {
            black_box(width + height);
        }
        if let Shape::Circle(radius) = shop.shape {
            black_box(radius);
        }
        black_box((shop.node.key, &shop.node.next));
        macro_rules! run {
            ($number:expr, $text:expr, $condition:expr) => {
                held[$number] += i32::from($condition);
            };
        }
        conditions!(run, shop, n);
        check(black_box(&shop), black_box(n), black_box(&maybe_of(n)));
    }
    for (number, count) in held.iter().enumerate() {
        println!("held {number} {count}");
    }
}

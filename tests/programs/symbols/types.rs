// One of each kind of type in Rust.
use std::collections::HashMap;
use std::hint::black_box;

#[derive(Clone, Copy, Debug)]
pub enum Level {
    Low = -1,
    Middle = 0,
    High = 100,
}

#[derive(Debug)]
pub enum Shape {
    Circle(f64),
    Square { side: u32, name: String },
    Nothing,
}

#[derive(Debug)]
pub enum Single {
    Only(u16),
}

#[derive(Debug)]
#[repr(u64)]
pub enum Far {
    Near(u8) = 1,
    Away(u8) = 0xffff_ffff_ffff_fff0,
}

pub struct Point {
    pub x: u8,
    pub y: u64,
    pub z: u8,
}

pub struct Pair(pub i32, pub char);
pub struct Marker;

pub union Bits {
    pub whole: u32,
    pub real: f32,
}

pub struct Generic<T> {
    pub value: T,
    pub list: Vec<T>,
}

pub trait Speak {
    fn speak(&self) -> i32;
}
impl Speak for Point {
    fn speak(&self) -> i32 {
        self.x as i32
    }
}

pub struct All<'a> {
    pub level: Level,
    pub shape: Shape,
    pub single: Single,
    pub far: Far,
    pub point: Point,
    pub pair: Pair,
    pub marker: Marker,
    pub bits: Bits,
    pub generic: Generic<u16>,
    pub text: &'a str,
    pub slice: &'a [i64],
    pub array: [[u8; 3]; 2],
    pub tuple: (i8, bool, f32),
    pub unit: (),
    pub boxed: Box<Point>,
    pub niche: Option<Box<Point>>,
    pub small: Option<u8>,
    pub nested: Option<Option<Level>>,
    pub result: Result<u8, String>,
    pub object: &'a dyn Speak,
    pub call: fn(i32) -> i32,
    pub raw: *const Point,
    pub wide: i128,
    pub unsigned: u128,
    pub index: usize,
    pub map: HashMap<String, i32>,
}

fn twice(n: i32) -> i32 {
    n * 2
}

fn main() {
    let point = Point { x: 1, y: 2, z: 3 };
    let numbers = [1i64, 2, 3];
    let all = All {
        level: Level::High,
        shape: Shape::Square { side: 2, name: String::from("s") },
        single: Single::Only(1),
        far: Far::Away(1),
        point: Point { x: 4, y: 5, z: 6 },
        pair: Pair(1, 'x'),
        marker: Marker,
        bits: Bits { whole: 1 },
        generic: Generic { value: 1, list: vec![2] },
        text: "text",
        slice: &numbers,
        array: [[1; 3]; 2],
        tuple: (1, true, 2.0),
        unit: (),
        boxed: Box::new(Point { x: 7, y: 8, z: 9 }),
        niche: None,
        small: Some(1),
        nested: Some(None),
        result: Ok(1),
        object: &point,
        call: twice,
        raw: &point,
        wide: 1,
        unsigned: 2,
        index: 3,
        map: HashMap::new(),
    };
    black_box((Shape::Circle(1.0), Shape::Nothing, Level::Low, Level::Middle, Far::Near(2)));
    let all = black_box(&all);
    println!("{} {}", all.object.speak(), (all.call)(all.pair.0));
}

//! One of each kind of value in Rust. Prints what each is, a line `name = {:?}` for each, then "ready", and waits for
//! the end of standard input. `--cfg once_lock`: the compiler's library has OnceLock.
#![allow(unknown_lints, unexpected_cfgs, static_mut_refs, dead_code)]

use std::borrow::Cow;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CString, OsString};
use std::fmt::Debug;
use std::io::Read;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::{NonZeroI64, NonZeroU32, NonZeroU8, Wrapping};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::{self, Rc};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32};
use std::sync::{self, Arc, Mutex, RwLock};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Mode {
    Off,
    Loop = 5,
    Below = -3,
}

#[repr(u8)]
#[derive(Debug, Clone, Copy)]
enum Colour {
    Red = 1,
    Blue = 200,
}

#[derive(Debug)]
enum Shape {
    Nothing,
    Circle(f32),
    Line(i16, i16),
    Named { name: String, sides: u8 },
    Nested(Box<Shape>),
}

#[derive(Debug)]
enum OnlyOne {
    Here(u32, bool),
}

#[repr(C, u16)]
#[derive(Debug)]
enum Foreign {
    Number(i32),
    Letter(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Debug)]
struct Metres(f64);

#[derive(Debug)]
struct Unit;

#[derive(Debug)]
struct Pair<A, B> {
    first: A,
    second: B,
}

#[derive(Debug)]
struct Tagged<T> {
    value: u16,
    tag: PhantomData<T>,
}

#[derive(Debug)]
struct Node {
    value: i32,
    next: Option<Box<Node>>,
}

#[derive(Debug)]
struct Parent {
    name: &'static str,
    children: RefCell<Vec<Rc<Child>>>,
}

#[derive(Debug)]
struct Child {
    number: u8,
    parent: RefCell<rc::Weak<Parent>>,
}

union Bits {
    whole: u32,
    real: f32,
}

trait Speak {
    fn speak(&self) -> i32;
}
struct Dog {
    age: i32,
}
impl Speak for Dog {
    fn speak(&self) -> i32 {
        self.age
    }
}

fn twice(x: i32) -> i32 {
    2 * x
}

pub mod audio {
    use std::sync::atomic::AtomicU32;
    use std::sync::Mutex;

    pub static TEMPO: AtomicU32 = AtomicU32::new(120);
    pub static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    pub static mut GAIN: f32 = 0.5;

    pub mod mixer {
        pub static mut LEVELS: [u8; 4] = [1, 2, 3, 250];
        pub static mut GAIN: f32 = 0.25;
    }
}

static CONSTANT: i32 = -7;
static TITLE: &str = "a \"title\"";
static mut COUNTED: u64 = 9;
#[used]
static mut INSTANCE: u8 = 43; // Rust's library may have some of its own
#[used]
static mut EVERYTHING: *const Everything = std::ptr::null();

macro_rules! everything {
    ($($name:ident: $type:ty = $value:expr,)*) => {
        struct Everything {
            $($name: $type,)*
            unsaid: Unsaid,
        }
        fn make() -> Everything {
            Everything { $($name: $value,)* unsaid: Unsaid::new() }
        }
        fn print(all: &Everything) {
            $(println!("{} = {:?}", stringify!($name), all.$name);)*
        }
    };
}

everything! {
    small: i8 = -128,
    byte: u8 = 200,
    short: i16 = -32768,
    word: u16 = 65535,
    number: i32 = i32::MIN,
    count: u32 = u32::MAX,
    long: i64 = i64::MIN,
    huge: u64 = u64::MAX,
    widest: i128 = i128::MIN,
    hugest: u128 = u128::MAX,
    size: usize = 77,
    difference: isize = -78,
    real: f32 = 0.1,
    double: f64 = -2.5e300,
    infinite: f64 = f64::INFINITY,
    letter: char = 'q',
    letter_wide: char = '\u{1f600}',
    yes: bool = true,
    nothing: () = (),
    pair: (i32, &'static str) = (1, "one"),
    triple: (u8, (bool, char), [i16; 2]) = (2, (true, 'x'), [3, -4]),
    single: (i64,) = (5,),
    row: [i32; 5] = [1, -2, 3, -4, 5],
    grid: [[u8; 3]; 2] = [[1, 2, 3], [4, 5, 6]],
    points: [Point; 2] = [Point { x: 1, y: 2 }, Point { x: 3, y: 4 }],
    empty_row: [u16; 0] = [],
    slice: &'static [i32] = &[7, 8, 9],
    slice_of_points: &'static [Point] = &[Point { x: 5, y: 6 }],
    empty_slice: &'static [u8] = &[],
    boxed_slice: Box<[u16]> = vec![1, 2, 3].into_boxed_slice(),
    text: &'static str = "gr\u{fc}n \u{1f600} \"quoted\" \\ \n",
    empty_text: &'static str = "",
    boxed_text: Box<str> = "boxed".into(),
    string: String = String::from("owned h\u{e4}"),
    empty_string: String = String::new(),
    vector: Vec<i32> = vec![1, 2, 3],
    vector_of_texts: Vec<String> = vec!["a".into(), "bc".into(), String::new()],
    vector_of_points: Vec<Point> = vec![Point { x: 7, y: 8 }, Point { x: 9, y: -1 }],
    vector_of_vectors: Vec<Vec<u8>> = vec![vec![1], vec![], vec![2, 3]],
    vector_of_units: Vec<()> = vec![(), ()],
    empty_vector: Vec<f64> = Vec::new(),
    ring: VecDeque<i32> = ring(),
    straight_ring: VecDeque<u8> = (0..5).collect(),
    empty_ring: VecDeque<String> = VecDeque::new(),
    heap: BinaryHeap<u8> = vec![3].into_iter().collect(),
    linked: LinkedList<i16> = [1, 2, 3].into_iter().collect(),
    option: Option<i32> = Some(-5),
    no_option: Option<u64> = None,
    option_box: Option<Box<i32>> = Some(Box::new(6)),
    no_box: Option<Box<Point>> = None,
    option_reference: Option<&'static i32> = Some(&CONSTANT),
    option_non_zero: Option<NonZeroU32> = NonZeroU32::new(8),
    no_non_zero: Option<NonZeroU8> = None,
    option_bool: Option<bool> = Some(false),
    option_char: Option<char> = None,
    option_text: Option<&'static str> = Some("some"),
    option_string: Option<String> = Some("owned".into()),
    no_string: Option<String> = None,
    option_mode: Option<Mode> = Some(Mode::Below),
    nested_option: Option<Option<bool>> = Some(None),
    nested_options: Option<Option<Option<u8>>> = Some(Some(Some(9))),
    no_nested_option: Option<Option<String>> = None,
    good: Result<u8, String> = Ok(3),
    bad: Result<u8, String> = Err("bad".into()),
    unit_result: Result<(), i32> = Ok(()),
    mode: Mode = Mode::Below,
    colour: Colour = Colour::Blue,
    modes: [Mode; 2] = [Mode::Off, Mode::Loop],
    shape_nothing: Shape = Shape::Nothing,
    shape_circle: Shape = Shape::Circle(1.5),
    shape_line: Shape = Shape::Line(-1, 2),
    shape_named: Shape = Shape::Named { name: "box".into(), sides: 4 },
    shape_nested: Shape = Shape::Nested(Box::new(Shape::Nested(Box::new(Shape::Circle(2.5))))),
    only_one: OnlyOne = OnlyOne::Here(4, true),
    foreign: Foreign = Foreign::Letter('f'),
    foreign_number: Foreign = Foreign::Number(-1),
    point: Point = Point { x: -1, y: 1 },
    metres: Metres = Metres(2.5),
    unit: Unit = Unit,
    generic: Pair<u8, Pair<String, Option<Point>>> = Pair {
        first: 1,
        second: Pair { first: "in".into(), second: Some(Point { x: 1, y: 2 }) },
    },
    tagged: Tagged<String> = Tagged { value: 3, tag: PhantomData },
    boxed: Box<i32> = Box::new(11),
    boxed_point: Box<Point> = Box::new(Point { x: 12, y: 13 }),
    counted: Rc<i32> = Rc::new(14),
    counted_point: Rc<Point> = Rc::new(Point { x: 15, y: 16 }),
    counted_text: Rc<str> = "shared".into(),
    counted_slice: Arc<[u8]> = Arc::new([1, 2, 3]),
    shared: Arc<String> = Arc::new("arc".into()),
    cell: Cell<i32> = Cell::new(17),
    ref_cell: RefCell<Vec<u8>> = RefCell::new(vec![18]),
    shared_cell: Rc<RefCell<Point>> = Rc::new(RefCell::new(Point { x: 19, y: 20 })),
    mutex: Mutex<i32> = Mutex::new(21),
    shared_mutex: Arc<Mutex<Vec<String>>> = Arc::new(Mutex::new(vec!["locked".into()])),
    read_write: RwLock<String> = RwLock::new("rw".into()),
    map: HashMap<i32, &'static str> = (0..20).map(|at| (at, "many")).collect(),
    map_of_texts: HashMap<String, Vec<i32>> = [("one".into(), vec![1]), ("two".into(), vec![1, 2])].into_iter().collect(),
    map_of_points: HashMap<Point, Mode> = [(Point { x: 1, y: 2 }, Mode::Loop)].into_iter().collect(),
    empty_map: HashMap<String, String> = HashMap::new(),
    set: HashSet<u8> = (0..9).collect(),
    empty_set: HashSet<i64> = HashSet::new(),
    tree: BTreeMap<i32, &'static str> = (0..60).map(|at| (at * 3 % 61, "leaf")).collect(),
    tree_of_texts: BTreeMap<String, Point> = [("b".into(), Point { x: 1, y: 2 }), ("a".into(), Point { x: 3, y: 4 })].into_iter().collect(),
    empty_tree: BTreeMap<u8, u8> = BTreeMap::new(),
    tree_set: BTreeSet<i16> = (0..30).rev().collect(),
    empty_tree_set: BTreeSet<String> = BTreeSet::new(),
    duration: Duration = Duration::from_millis(1500),
    long_duration: Duration = Duration::new(3, 7),
    order: Ordering = Ordering::Less,
    range: Range<i32> = -1..5,
    range_inclusive: RangeInclusive<u8> = 2..=6,
    phantom: PhantomData<i32> = PhantomData,
    non_zero: NonZeroI64 = NonZeroI64::new(-22).unwrap(),
    wrapping: Wrapping<u8> = Wrapping(23),
    borrowed: Cow<'static, str> = Cow::Borrowed("borrowed"),
    owned: Cow<'static, str> = Cow::Owned("owned".into()),
    owned_list: Cow<'static, [i32]> = Cow::Owned(vec![1, 2]),
    path: PathBuf = PathBuf::from("/tmp/a b"),
    borrowed_path: &'static Path = Path::new("rel/ative"),
    os_string: OsString = OsString::from("os"),
    c_string: CString = CString::new("c text").unwrap(),
    atomic: AtomicU32 = AtomicU32::new(24),
    atomic_wide: AtomicI64 = AtomicI64::new(-25),
    atomic_flag: AtomicBool = AtomicBool::new(true),
    pinned: Pin<Box<i32>> = Box::pin(26),
    kept: ManuallyDrop<String> = ManuallyDrop::new("kept".into()),
    list: Node = Node { value: 1, next: Some(Box::new(Node { value: 2, next: Some(Box::new(Node { value: 3, next: None })) })) },
    hundred: Vec<u8> = (0..100).collect(),
}

// What {:?} shows otherwise, or not at all.
struct Unsaid {
    many: Vec<u32>,
    long_text: String,
    many_in_tree: BTreeMap<u16, u16>,
    many_in_map: HashMap<u16, u16>,
    speaker: Box<dyn Speak>,
    borrowed_speaker: &'static dyn Speak,
    function: fn(i32) -> i32,
    closure: Box<dyn Fn(i32) -> i32>,
    bits: Bits,
    raw: *const Point,
    null: *mut u8,
    atomic_pointer: AtomicPtr<Point>,
    unsafe_cell: UnsafeCell<i16>,
    weak: rc::Weak<Point>,
    no_weak: sync::Weak<Point>,
    weak_owner: Rc<Point>,
    family: Rc<Parent>,
    lent: &'static RefCell<i32>,
    by_reference: &'static &'static Point,
}

static POINT: Point = Point { x: 31, y: 32 };
static DOG: Dog = Dog { age: 33 };

impl Unsaid {
    fn new() -> Unsaid {
        let added = std::env::args().count() as i32;
        let owner = Rc::new(Point { x: 34, y: 35 });
        let parent = Rc::new(Parent { name: "parent", children: RefCell::new(Vec::new()) });
        let child = Rc::new(Child { number: 36, parent: RefCell::new(Rc::downgrade(&parent)) });
        parent.children.borrow_mut().push(child);
        Unsaid {
            many: (0..250).collect(),
            long_text: "y".repeat(1025),
            many_in_tree: (0..500).map(|at| (at, at + 1)).collect(),
            many_in_map: (0..500).map(|at| (at, at + 1)).collect(),
            speaker: Box::new(Dog { age: 37 }),
            borrowed_speaker: &DOG,
            function: twice,
            closure: Box::new(move |x| x + added),
            bits: Bits { real: 1.5 },
            raw: &POINT,
            null: std::ptr::null_mut(),
            atomic_pointer: AtomicPtr::new(&POINT as *const Point as *mut Point),
            unsafe_cell: UnsafeCell::new(-38),
            weak: Rc::downgrade(&owner),
            no_weak: sync::Weak::new(),
            weak_owner: owner,
            family: parent,
            lent: Box::leak(Box::new(RefCell::new(39))),
            by_reference: Box::leak(Box::new(&POINT)),
        }
    }
}

#[cfg(once_lock)]
pub mod once {
    use std::cell::OnceCell;
    use std::sync::OnceLock;

    pub static LOCK: OnceLock<String> = OnceLock::new();
    pub static NO_LOCK: OnceLock<i32> = OnceLock::new();
    pub static mut CELL: OnceCell<i32> = OnceCell::new();

    pub unsafe fn set() {
        LOCK.set("once".into()).unwrap();
        CELL.set(40).unwrap();
        println!("once::LOCK = {:?}", LOCK);
        println!("once::NO_LOCK = {:?}", NO_LOCK);
        println!("once::CELL = {:?}", CELL);
    }
}

// One whose first element does not lie first.
fn ring() -> VecDeque<i32> {
    let mut found: VecDeque<i32> = VecDeque::with_capacity(4);
    found.extend([0, 0, 1, 2]);
    found.pop_front();
    found.pop_front();
    found.extend([3, 4]);
    found
}

#[inline(never)]
fn counted() -> u32 {
    static mut CALLS: u32 = 41;
    unsafe {
        CALLS += 1;
        CALLS
    }
}

fn main() {
    let all: &'static Everything = Box::leak(Box::new(make()));
    audio::NAMES.lock().unwrap().push("first".into());
    unsafe {
        EVERYTHING = all;
        COUNTED += CONSTANT.unsigned_abs() as u64 + counted() as u64 + TITLE.len() as u64;
        audio::GAIN += audio::mixer::GAIN;
        audio::mixer::LEVELS[0] += all.unsaid.speaker.speak() as u8 + (all.unsaid.closure)(1) as u8;
    }
    print(all);
    unsafe {
        println!("audio::TEMPO = {:?}", audio::TEMPO);
        println!("audio::NAMES = {:?}", audio::NAMES);
        println!("audio::mixer::LEVELS = {:?}", audio::mixer::LEVELS);
        println!("COUNTED = {:?}", COUNTED);
        println!("TITLE = {:?}", TITLE);
        println!("INSTANCE = {:?}", INSTANCE);
        #[cfg(once_lock)]
        once::set();
    }
    let _lent = all.unsaid.lent.borrow_mut();
    println!("ready {:?}", all.unsaid.borrowed_speaker.speak());
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    loop {
        std::thread::park();
    }
}

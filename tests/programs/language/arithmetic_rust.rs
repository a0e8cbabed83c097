//! Conditions over values of Rust, each behind what Strobe is asked. The program counts for how many calls each holds.
#![allow(dead_code, unused_parens)]

use std::hint::black_box;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sale = 3,
    Refund = 200,
}

struct Pair(i32, f64);

struct Sample {
    weight: f32,
    value: f64,
    tiny: i8,
    port: u16,
    wide: u64,
    is_valid: bool,
    letter: char,
    kind: Kind,
    pair: Pair,
    points: [i32; 4],
    series: Vec<f64>,
    items: Vec<i32>,
    name: String,
    maybe: Option<i32>,
    next: Option<Box<Sample>>,
}

/// `whole` is called with the same.
fn count(held: &mut Vec<i64>, small: i32, single: f32, ratio: f64, sample: &Sample, text: &str, numbers: &[i32]) {
    let conditions = [
        ("ratio + 1 > 2", ratio + 1.0 > 2.0),
        ("ratio * ratio == 6.25", ratio * ratio == 6.25),
        ("ratio / 3.0 < 0.7", ratio / 3.0 < 0.7),
        ("single * 3.0f32 == single + single + single", single * 3.0 == single + single + single),
        ("(f64)single > 0.1", single as f64 > 0.1),
        ("(f32)ratio / 3.0f32 == single", ratio as f32 / 3.0 == single),
        ("(i32)ratio == 2", ratio as i32 == 2),
        ("(f64)small * 0.5 > ratio", small as f64 * 0.5 > ratio),
        ("-ratio > 1.5", -ratio > 1.5),
        ("small % 3 == -1", small % 3 == -1),
        ("small / 2 == -2", small / 2 == -2),
        ("small * small - small == 20", small * small - small == 20),
        ("(small & 6) == 4", small & 6 == 4),
        ("small << 2 == 20", small << 2 == 20),
        ("small >> 1 == -3", small >> 1 == -3),
        ("(small ^ 5) < 3", small ^ 5 < 3),
        ("(u8)small > 250", small as u8 > 250),
        ("(i8)sample.port < 0", (sample.port as i8) < 0),
        ("sample.weight > single", sample.weight > single),
        ("sample.value - ratio < 0.25", sample.value - ratio < 0.25),
        ("sample.tiny * 2 == -14", sample.tiny * 2 == -14),
        ("sample.port / 1000 == 50", sample.port / 1000 == 50),
        ("sample.wide > 0x8000000000000000", sample.wide > 0x8000000000000000),
        ("sample.is_valid", sample.is_valid),
        ("!sample.is_valid || small > 4", !sample.is_valid || small > 4),
        ("sample.letter == 'x'", sample.letter == 'x'),
        ("sample.kind == Refund", sample.kind == Kind::Refund),
        ("sample.kind == Kind::Sale", sample.kind == Kind::Sale),
        ("sample.pair.0 + small == 4", sample.pair.0 + small == 4),
        ("sample.pair.1 * 2.0 > ratio", sample.pair.1 * 2.0 > ratio),
        ("sample.points[1] + sample.points[2] == 5", sample.points[1] + sample.points[2] == 5),
        ("sample.points[small & 3] > 2", sample.points[(small & 3) as usize] > 2),
        ("sample.series[0] + sample.series[2] == ratio", sample.series[0] + sample.series[2] == ratio),
        ("size(sample.items) == 3", sample.items.len() == 3),
        ("any(x in sample.items: x == small)", sample.items.iter().any(|&x| x == small)),
        ("all(x in sample.items: x > small)", sample.items.iter().all(|&x| x > small)),
        ("sum(x in sample.items: x) == 6", sample.items.iter().sum::<i32>() == 6),
        ("count(x in sample.points: x % 2 == 0) == 2", sample.points.iter().filter(|&&x| x % 2 == 0).count() == 2),
        ("sum(x in sample.series: x) > ratio", sample.series.iter().sum::<f64>() > ratio),
        ("max(x in sample.series: x) == 4.0", sample.series.iter().cloned().fold(f64::MIN, f64::max) == 4.0),
        ("sample.name == \"one\"", sample.name == "one"),
        ("sample.name contains \"th\"", sample.name.contains("th")),
        ("text startswith \"e\"", text.starts_with('e')),
        ("text endswith \"dd\" && small < 0", text.ends_with("dd") && small < 0),
        ("size(text) == 3", text.len() == 3),
        ("sample.name != \"one\" || sample.tiny + small > 0", sample.name != "one" || sample.tiny as i32 + small > 0),
        ("numbers[1] - numbers[0] == small", numbers[1] - numbers[0] == small),
        ("any(x in numbers: x > 20)", numbers.iter().any(|&x| x > 20)),
        ("small > 0 ? ratio > 1 : single > 0.4", if small > 0 { ratio > 1.0 } else { single > 0.4 }),
        ("abs(small) == 5 || abs(ratio) < 0.2", small.abs() == 5 || ratio.abs() < 0.2),
    ];
    held.resize(conditions.len(), 0);
    for (number, (_, holds)) in conditions.iter().enumerate() {
        held[number] += *holds as i64;
    }
}

#[inline(never)]
#[no_mangle]
fn whole(small: i32, single: f32, ratio: f64, sample: &Sample, text: &str, numbers: &[i32]) -> f64 {
    black_box((small, single, text, numbers));
    black_box(sample);
    ratio * small as f64
}

fn main() {
    let sample = |name: &str, next| Sample {
        weight: if name == "one" { 0.1 } else { 1.5 },
        value: if name == "one" { 2.5 } else { -3.25 },
        tiny: -7,
        port: if name == "one" { 50000 } else { 129 },
        wide: if name == "one" { 1 } else { u64::MAX },
        is_valid: name == "one",
        letter: if name == "one" { 'x' } else { 'é' },
        kind: if name == "one" { Kind::Sale } else { Kind::Refund },
        pair: Pair(7, 1.5),
        points: [1, 2, 3, 4],
        series: vec![0.5, 1.0, 2.0, 4.0],
        items: if name == "one" { vec![1, 2, 3] } else { vec![-5, -4] },
        name: name.to_string(),
        maybe: if name == "one" { Some(0) } else { None },
        next,
    };
    let samples = [sample("one", None), sample("other", Some(Box::new(sample("one", None))))];
    let mut held = Vec::new();
    for at in -60..60 {
        let small = at % 13;
        let single = if at % 3 != 0 { 0.1 } else { 0.8333333f32 };
        let ratio = if at % 5 != 0 { at as f64 / 8.0 } else { 2.5 };
        let text = if at % 2 != 0 { "odd" } else { "even" };
        let numbers = [at, at + small, 3 * at];
        let sample = &samples[(at & 1) as usize];
        count(&mut held, small, single, ratio, sample, text, &numbers);
        black_box(whole(small, single, ratio, sample, text, &numbers));
    }
    for (number, held) in held.iter().enumerate() {
        println!("held {number} {held}");
    }
}

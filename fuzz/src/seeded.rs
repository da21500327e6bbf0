//! Mangled inputs for as long as asked, without coverage guidance: `seeded TARGET SECONDS [SEED]`.
//! The input at hand stands in a file, so that one that ends the process can be read afterwards.

mod inputs;
mod review;
mod targets;

use std::time::{Duration, Instant};

use fastrand::Rng;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, seed @ ..] = &arguments[..] else { panic!("seeded TARGET SECONDS [SEED]") };
    let target =
        inputs::TARGETS.iter().find(|target| target.name == name).expect("a target's name");
    let seconds = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let seed =
        seed.first().map_or_else(|| Rng::new().u64(..), |seed| seed.parse().expect("a seed"));
    let folder = std::env::temp_dir();
    let (at_hand, slow) =
        (folder.join(format!("{name}-{seed}.input")), folder.join(format!("{name}-{seed}.slow")));
    println!("{name}: seed {seed}, the input at hand is in {}", at_hand.display());
    let (mut rng, seeds, began) = (Rng::with_seed(seed), (target.seeds)(), Instant::now());
    let (mut done, mut bytes, mut slowest) = (0_u64, 0, Duration::ZERO);
    while began.elapsed() < seconds {
        let input = inputs::mangled(&mut rng, &seeds);
        std::fs::write(&at_hand, &input).expect("the input can be written");
        let start = Instant::now();
        (target.run)(&input);
        if start.elapsed() > slowest {
            slowest = start.elapsed();
            std::fs::write(&slow, &input).expect("the input can be written");
        }
        done += 1;
        bytes += input.len();
    }
    std::fs::remove_file(&at_hand).expect("the input can be removed");
    println!(
        "{name}: {done} inputs, {bytes} bytes in {:?}; the slowest took {slowest:?}",
        began.elapsed()
    );
}

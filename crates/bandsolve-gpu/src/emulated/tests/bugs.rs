//! Tests that the emulator detects the bugs of the kernels in `broken.cpp`.

use super::ORDERS;
use crate::device::{Backend, Device, DeviceVec, Launch};
use crate::emulated::{Emulation, Emulator, WaveSize};
use std::process::Command;
use std::sync::Arc;

/// A kernel, its launch, and its bug.
struct Bug {
    kernel: &'static str,
    /// Arrays of 64 numbers before its other arguments.
    arrays: usize,
    numbers: &'static [u32],
    blocks: u32,
    threads: u32,
    shared: usize,
    wave: WaveSize,
    /// Part of the message that ends the program.
    message: &'static str,
    /// The lines of `broken.cpp` that the message names.
    lines: [&'static str; 2],
}

const BUG: Bug = Bug {
    kernel: "",
    arrays: 1,
    numbers: &[],
    blocks: 1,
    threads: 64,
    shared: 0,
    wave: WaveSize::Lanes32,
    message: "",
    lines: [""; 2],
};

impl Bug {
    /// An emulator with these waves.
    fn emulation(&self) -> Emulation {
        Emulation { wave: self.wave, ..Emulation::default() }
    }
}

/// Bugs that are always detected.
const BUGS: [Bug; 7] = [
    Bug { kernel: "divergent_barrier", message: "__syncthreads() after some threads of the block returned", ..BUG },
    Bug { kernel: "two_barriers", message: "threads of a block are at different __syncthreads()", ..BUG },
    Bug { kernel: "beyond_the_end", numbers: &[64], threads: 1, message: "memory access out of bounds", ..BUG },
    Bug {
        kernel: "beyond_shared_memory",
        numbers: &[16],
        threads: 1,
        shared: 64,
        message: "memory access out of bounds",
        ..BUG
    },
    Bug { kernel: "absent_lane", threads: 40, message: "shuffle from a lane that does not exist", ..BUG },
    Bug { kernel: "torn_warp", message: "lanes of a warp wait at different operations", ..BUG },
    Bug { kernel: "waits_for_nobody", message: "threads spin forever", ..BUG },
];

/// A bug of waves of 64 lanes. With the number 1, the kernel has none.
const WAVE: Bug = Bug { wave: WaveSize::Lanes64, numbers: &[0], ..BUG };

const WAVES: [Bug; 3] = [
    Bug { kernel: "shuffle_of_the_wave", message: "shuffle from a lane of the other half of the wave", ..WAVE },
    Bug { kernel: "mask_of_the_wave", message: "undefined behavior", ..WAVE },
    Bug { kernel: "waits_for_the_other_half", threads: 128, message: "or wait for lanes of their wave", ..WAVE },
];

/// Data races. If the last argument of a kernel is 1, it has none.
const RACES: [Bug; 7] = [
    Bug {
        kernel: "no_barrier",
        arrays: 2,
        shared: 256,
        message: "data race on shared memory",
        lines: ["shared[t] = in[t];", "out[t] = shared[(t + 1) % n];"],
        ..BUG
    },
    Bug {
        kernel: "no_fence",
        arrays: 3,
        blocks: 2,
        threads: 32,
        message: "data race on global memory",
        lines: ["number[threadIdx.x] = 1;", "out[threadIdx.x] = number[blockDim.x - 1 - threadIdx.x];"],
        ..BUG
    },
    Bug {
        kernel: "no_acquire",
        arrays: 3,
        blocks: 2,
        threads: 32,
        message: "data race on global memory",
        lines: ["number[threadIdx.x] = 1;", "out[threadIdx.x] = number[blockDim.x - 1 - threadIdx.x];"],
        ..BUG
    },
    Bug {
        kernel: "only_a_shuffle",
        arrays: 2,
        shared: 256,
        message: "data race on shared memory",
        lines: ["shared[t] = in[t];", "out[t] = shared[t ^ 1];"],
        ..BUG
    },
    Bug {
        kernel: "two_writers",
        blocks: 2,
        threads: 1,
        message: "data race on global memory",
        lines: ["[apart ? blockIdx.x : 0] = 1;"; 2],
        ..BUG
    },
    Bug {
        kernel: "early_read",
        arrays: 2,
        message: "data race on global memory",
        lines: ["atomicMax(most, threadIdx.x);", "out[0] = *most;"],
        ..BUG
    },
    Bug {
        kernel: "halves_in_step",
        arrays: 2,
        shared: 256,
        message: "data race on shared memory",
        lines: ["shared[t] = in[t];", "out[t] = shared[t ^ 32];"],
        ..WAVE
    },
];

fn run(emulator: &Emulator, bug: &Bug, arrays: &[&DeviceVec<u32>], numbers: &[u32]) {
    let addresses = arrays.iter().map(|array| array.slice(..).address());
    let arguments = addresses.chain(numbers.iter().map(|number| u64::from(*number)));
    let arguments = arguments.map(|argument| Box::from([argument])).collect();
    let Bug { kernel, blocks, threads, shared, .. } = *bug;
    let launch = Launch { kernel, blocks, threads, shared, cooperative: true, stream: 0 };
    // SAFETY: these are the kernels' arguments; the emulator detects the bugs of the broken kernels.
    unsafe { emulator.launch(&launch, arguments) }.unwrap();
    emulator.synchronize(0).unwrap();
}

/// Run a kernel with arrays of zeros.
fn run_alone(emulator: Emulator, bug: &Bug, numbers: &[u32]) {
    let emulator = Arc::new(emulator);
    let device = Device::new(emulator.clone(), 0, Default::default());
    let arrays: Vec<_> = (0..bug.arrays).map(|_| device.zeros::<u32>(64).unwrap()).collect();
    run(&emulator, bug, &arrays.iter().collect::<Vec<_>>(), numbers);
}

const CHILD: &str = "BANDSOLVE_BROKEN_KERNEL";

/// The message with which a kernel ends the test `name`, which runs the kernel if `CHILD` names it.
fn message_of(test: &str, bug: &Bug) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = format!("emulated::tests::bugs::{test}");
    let output = child.args([&*name, "--exact", "--nocapture"]).env(CHILD, bug.kernel).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && stderr.contains(bug.message) && stderr.contains(bug.kernel),
        "{}: {stderr}",
        bug.kernel
    );
    stderr
}

#[test]
fn bugs_end_the_program_with_a_message() {
    if let Ok(kernel) = std::env::var(CHILD) {
        let bug = BUGS.iter().chain(&WAVES).find(|bug| bug.kernel == kernel).unwrap();
        return run_alone(Emulator::new(bug.emulation()), bug, bug.numbers);
    }
    for bug in BUGS.iter().chain(&WAVES) {
        message_of("bugs_end_the_program_with_a_message", bug);
    }
}

/// Without the bug, and with the bug in waves of 32 lanes, there is no message in any order.
#[test]
fn bugs_of_waves_are_none_in_warps() {
    for bug in &WAVES {
        for order in ORDERS {
            run_alone(Emulator::new(Emulation { order, ..bug.emulation() }), bug, &[1]);
            run_alone(Emulator::new(Emulation { order, ..Emulation::default() }), bug, bug.numbers);
        }
    }
}

#[test]
fn votes_of_the_other_half_of_a_wave_are_wrong() {
    let votes = |wave, right: u32| {
        let emulator = Arc::new(Emulator::new(Emulation { wave, ..Emulation::default() }));
        let device = Device::new(emulator.clone(), 0, Arc::default());
        let out = device.zeros::<u32>(64).unwrap();
        run(&emulator, &Bug { kernel: "votes_of_the_wave", ..BUG }, &[&out], &[right]);
        out.download().unwrap()
    };
    let expected = [0xaaaa_aaaa_u32; 64];
    for (wave, right) in [(WaveSize::Lanes32, 0), (WaveSize::Lanes32, 1), (WaveSize::Lanes64, 1)] {
        assert_eq!(votes(wave, right), expected);
    }
    let wrong = votes(WaveSize::Lanes64, 0);
    assert!(wrong[..32] == expected[..32] && wrong[32..].iter().all(|votes| *votes == 0x5555_5555));
}

#[test]
fn data_races_end_the_program_with_both_lines() {
    if let Ok(kernel) = std::env::var(CHILD) {
        let bug = RACES.iter().find(|bug| bug.kernel == kernel).unwrap();
        return run_alone(Emulator::with_races(bug.emulation()), bug, &[0]);
    }
    let source = include_str!("../../../emulator/broken.cpp");
    for bug in &RACES {
        let message = message_of("data_races_end_the_program_with_both_lines", bug);
        let body = source.find(&format!("void {}(", bug.kernel)).unwrap();
        for text in bug.lines {
            let line = source[..body + source[body..].find(text).unwrap()].lines().count();
            assert!(message.contains(&format!("broken.cpp:{line}")), "{}, line {line}: {message}", bug.kernel);
        }
    }
}

/// Without the bug, there is no message in any order.
#[test]
fn barriers_fences_and_neighboring_bytes_are_no_races() {
    for bug in &RACES {
        for order in ORDERS {
            run_alone(Emulator::with_races(Emulation { order, ..bug.emulation() }), bug, &[1]);
        }
    }
}

#[test]
fn a_missing_barrier_shows_in_one_of_the_orders() {
    let input: Vec<u32> = (0..64).collect();
    let expected: Vec<u32> = (0..64).map(|t| (t + 1) % 64).collect();
    let is_correct = |order, wait: u32| {
        let emulator = Arc::new(Emulator::new(Emulation { order, ..Emulation::default() }));
        let device = Device::new(emulator.clone(), 0, Arc::default());
        let (given, out) = (device.upload(&input).unwrap(), device.zeros::<u32>(64).unwrap());
        run(&emulator, &RACES[0], &[&given, &out], &[wait]);
        out.download().unwrap() == expected
    };
    assert!(ORDERS.into_iter().all(|order| is_correct(order, 1)));
    assert!(!ORDERS.into_iter().all(|order| is_correct(order, 0)));
}

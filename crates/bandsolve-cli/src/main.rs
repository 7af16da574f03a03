//! The program `bandsolve`.

fn main() -> std::process::ExitCode {
    bandsolve_cli::main()
}

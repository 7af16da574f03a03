//! The options of the command line, of Rust and of C have the defaults of `docs/options.csv`, which lists all of them.

use crate::bandsolve;
use bandsolve_eigen::EigenSolver;
use bandsolve_sparse::{KrylovSolver, PreconditionerOptions};
use std::collections::BTreeSet;

/// Lines of an interface: option, default and place.
fn listed(interface: &str) -> BTreeSet<[String; 3]> {
    let table = include_str!("../../../../docs/options.csv");
    let mut all = BTreeSet::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [of, option, default, places] = line.splitn(4, ',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if of == interface {
            // `bench iterate` is one place.
            let mut words = places.split(' ');
            while let Some(word) = words.next() {
                let place = if word == "bench" { format!("bench {}", words.next().unwrap()) } else { word.to_owned() };
                all.insert([option.to_owned(), default.to_owned(), place]);
            }
        }
    }
    all
}

/// The defaults in a help text, by option.
fn defaults(help: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut option = String::new();
    for line in help.lines().map(str::trim) {
        if let Some(word) = line.split([' ', ',']).find(|word| word.starts_with("--")).filter(|_| line.starts_with('-'))
        {
            option = word.to_owned();
        }
        if let Some(default) = line.split("[default: ").nth(1).and_then(|rest| rest.split(']').next()) {
            all.push((option.clone(), default.to_owned()));
        }
    }
    all
}

#[test]
fn the_command_line_has_the_listed_defaults() {
    let expected = listed("command line");
    let options: BTreeSet<&String> = expected.iter().map(|[option, ..]| option).collect();
    let mut found = BTreeSet::new();
    for command in ["solve", "poisson", "iterate", "forest", "eig", "generate", "bench iterate"] {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        for (option, default) in defaults(&bandsolve(&arguments).exits(0).stdout) {
            if options.contains(&option) {
                found.insert([option, default, command.to_owned()]);
            }
        }
    }
    found.retain(|[option, _, command]| command != "bench iterate" || !["--solver", "--precond"].contains(&&**option));
    assert_eq!(found, expected);
}

#[test]
fn rust_has_the_listed_defaults() {
    for [option, default, place] in listed("rust") {
        let has = match (&*place, &*option) {
            ("KrylovSolver", "rtol") => KrylovSolver::DEFAULT_RTOL,
            ("EigenSolver", "tol") => EigenSolver::<f64>::DEFAULT_TOL,
            ("PreconditionerOptions", "omega") => PreconditionerOptions::default().omega,
            _ => panic!("{place}: {option}"),
        };
        assert_eq!(default.parse(), Ok(has), "{place}: {option}");
    }
}

#[test]
fn c_has_the_listed_defaults() {
    let header = include_str!("../../../bandsolve-capi/include/bandsolve.h");
    for [option, default, place] in listed("c") {
        // Each member follows its comment.
        let body = header.split(&format!("}} {place};")).next().and_then(|text| text.split("typedef struct {").last());
        let before = body.and_then(|body| body.split(&format!(" {option};")).next()).unwrap();
        let comment = before.split("/**").last().unwrap();
        let words: Vec<&str> = comment.split_whitespace().filter(|word| *word != "*").collect();
        assert!(words.join(" ").contains(&format!("Default {default}.")), "{place}: {option}: {comment}");
    }
}

/// The lines of a help text that define an option, such as `--json [<FILE>]`.
fn usages(help: &str) -> Vec<&str> {
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| line[line.find("--")?..].split("  ").next()).collect()
}

#[test]
fn options_of_all_commands_have_one_name_and_one_form() {
    let places = ["solve", "iterate", "forest", "eig", "poisson", "info", "generate", "doctor"].map(str::to_owned);
    let benches = ["tridiagonal", "methods", "batch", "banded", "block", "sparse", "spmv", "poisson", "iterate"];
    let tables = ["chang", "klein", "files", "suitesparse", "bands"].map(|table| format!("stability {table}"));
    let benches = benches.map(|bench| format!("bench {bench}"));
    let mut json = BTreeSet::new();
    for place in places.iter().chain(&tables).chain(&benches) {
        let arguments: Vec<&str> = place.split(' ').chain(["--help"]).collect();
        let help = bandsolve(&arguments).stdout;
        for usage in usages(&help) {
            let name = usage.split([' ', '=']).next().unwrap();
            assert!(!["--methods", "--blocks", "--columns"].contains(&name), "{place}: {usage}");
            if name == "--json" {
                json.insert(usage.to_owned());
            }
            // A file in some commands must not be a number in others.
            assert!(name != "--rhs" || usage.contains('.'), "{place}: {usage}");
        }
    }
    assert_eq!(json.into_iter().collect::<Vec<_>>(), ["--json [<FILE>]"]);
}

//! `bandsolve completions` and `bandsolve man`, generated from the same definitions as `--help`.

use crate::args::{Args, CompletionsArgs, ManArgs};
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use clap::CommandFactory;
use clap::builder::Resettable;
use clap_mangen::Man;
use std::path::Path;

/// Print the completion script for a shell.
///
/// # Errors
/// [`Failure::Other`] if they cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "bandsolve", &mut text);
    report::print(&String::from_utf8_lossy(&text))
}

/// Print the manual page, or write the pages of all commands to a folder.
///
/// # Errors
/// [`Failure::Other`] if they cannot be written.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let Some(folder) = &args.out else {
        return report::print(&page(&Args::command()).map_err(failed)?);
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder)
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Other(format!("cannot write the manual: {error}"))
}

/// Write the pages of a command and of all its subcommands.
fn write_pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    command.get_subcommands().try_for_each(|below| write_pages(below, folder))?;
    let text = page(command).map_err(failed)?;
    report::write_text(&folder.join(Man::new(command.clone()).get_filename()), &text)
}

/// The page of a command. The examples and notes at the end of the help become sections, with the same lines.
fn page(command: &clap::Command) -> std::io::Result<String> {
    let notes = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let command = command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let sections: String = notes.unwrap_or_default().split("\n\n").map(section).collect();
    // The sections go before the version and the authors.
    let end = text.find(".SH VERSION").unwrap_or(text.len());
    Ok(format!("{}{sections}{}", &text[..end], &text[end..]))
}

/// Convert `Title:` and the lines below it to a section.
fn section(notes: &str) -> String {
    let Some((title, lines)) = notes.trim().split_once(":\n") else { return String::new() };
    // In roff, a line that starts with a dot or an apostrophe is a command, and a plain hyphen can become another character.
    let line = |line: &str| {
        let plain = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if plain.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{plain}\n")
    };
    format!(".SH {}\n.nf\n{}.fi\n", title.to_uppercase(), lines.lines().map(line).collect::<String>())
}

//! Reports: the results of a benchmark as one HTML file without external resources.

use crate::plot::{Picture, escape, stylesheet};
use crate::sheet::{Line, Sheet, SheetColumn};
use std::time::{SystemTime, UNIX_EPOCH};

/// The content of a page.
pub struct Page<'a> {
    pub title: &'a str,
    /// Names and values of facts about the run.
    pub about: &'a [(&'static str, String)],
    pub sheets: &'a [Sheet],
    pub picture: Option<&'a Picture>,
}

const STYLE: &str = "\
:root{color-scheme:light dark}
body{margin:2rem auto;max-width:75rem;padding:0 1.5rem;background:var(--paper);color:var(--ink);\
font:15px/1.5 'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}.lead{color:var(--soft);margin:.2rem 0 1.4rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:0}dt{color:var(--soft)}dd{margin:0;\
overflow-wrap:anywhere}
pre,code{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.9em}
pre{background:var(--stripe);border:1px solid var(--grid);padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere}
figure{margin:0;overflow-x:auto}figure svg{max-width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0 0 .4rem}
caption{text-align:left;font-weight:600;padding:1.1rem 0 .35rem}
th,td{padding:.16rem .8rem;text-align:right;white-space:nowrap}th{border-bottom:1px solid var(--grid);font-weight:600}
th:first-child,td:first-child,td.note{text-align:left}th:first-child,td:first-child{padding-left:.4rem}
tbody tr:nth-child(odd){background:var(--stripe)}td.note{color:var(--soft);white-space:normal}";

impl Page<'_> {
    /// The whole file.
    pub fn html(&self) -> String {
        let (title, command) = (escape(self.title), escape(&command()));
        let version = env!("CARGO_PKG_VERSION");
        let figure = self
            .picture
            .map_or(String::new(), |picture| format!("<h2>Plot</h2>\n<figure>\n{}</figure>\n", picture.inline()));
        let tables: String = self.sheets.iter().map(table).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}\n{}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
             <p class=\"lead\">{}, bandsolve {version}</p>\n{}\
             <h2>Command</h2>\n<pre><code>{command}</code></pre>\n{figure}{}<h2>Tables</h2>\n{tables}</body>\n</html>\n",
            stylesheet(),
            date(now()),
            list(self.about.iter().map(|(name, fact)| (*name, fact.as_str()))),
            self.reading(),
        )
    }

    /// Explanations of the columns, each column name once.
    fn reading(&self) -> String {
        let mut columns: Vec<&SheetColumn> = Vec::new();
        for column in self.sheets.iter().flat_map(|sheet| telling(sheet).into_iter().map(|k| &sheet.columns[k])) {
            if !column.meaning.is_empty() && columns.iter().all(|other| other.name != column.name) {
                columns.push(column);
            }
        }
        let meanings = list(columns.iter().map(|column| (column.name, column.meaning)));
        format!(
            "<h2>How to read it</h2>\n<p>All solvers run in turn in one process. If the machine becomes slower during the run, this affects \
             all solvers equally. Times do not include the copies that restore overwritten inputs. Small differences between \
             runs are noise.</p>\n{meanings}"
        )
    }
}

fn list<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let lines: String =
        lines.map(|(name, fact)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(fact))).collect();
    format!("<dl>\n{lines}</dl>\n")
}

/// The indices of the columns with at least one value.
fn telling(sheet: &Sheet) -> Vec<usize> {
    let says = |k: &usize| sheet.lines.iter().any(|line| line.cells[*k] != "-");
    (0..sheet.columns.len()).filter(says).collect()
}

fn table(sheet: &Sheet) -> String {
    let noted = sheet.lines.iter().any(|line| !line.note.is_empty());
    let columns = telling(sheet);
    let head = |k: &usize| format!("<th scope=\"col\">{}</th>", escape(sheet.columns[*k].name));
    let heads: String = columns.iter().map(head).collect();
    let row = |line: &Line| {
        let cells: String = columns.iter().map(|k| format!("<td>{}</td>", escape(&line.cells[*k]))).collect();
        let note = if noted { format!("<td class=\"note\">{}</td>", escape(&line.note)) } else { String::new() };
        format!("<tr>{cells}{note}</tr>\n")
    };
    let rows: String = sheet.lines.iter().map(row).collect();
    let (title, last) = (escape(&sheet.title), if noted { "<th></th>" } else { "" });
    format!(
        "<div class=\"wide\"><table>\n<caption>{title}</caption>\n<thead><tr>{heads}{last}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// The command line of this process, quoted for a shell.
fn command() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once("bandsolve".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=^+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}

/// Date and time in UTC.
///
/// # Source
/// H. Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months are counted from March.
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = 400 * era + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400 + 3_660), "2000-02-29 01:01 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        assert_eq!(["2^20,1000", "a b", "it's", ""].map(quoted), ["2^20,1000", "'a b'", r"'it'\''s'", "''"]);
    }

    #[test]
    fn text_on_a_page_is_escaped() {
        let about = [("file", "<b>&".to_string())];
        let line = Line { cells: vec!["a<b".into()], note: "\"x\" > y".into() };
        let columns = vec![SheetColumn { name: "n", width: 3, meaning: "1 < 2" }];
        let sheets = [Sheet { title: "<i>".into(), columns, lines: vec![line] }];
        let html = Page { title: "t & u", about: &about, sheets: &sheets, picture: None }.html();
        for words in
            ["<dd>&lt;b&gt;&amp;</dd>", "<td>a&lt;b</td>", "t &amp; u", "&lt;i&gt;", "1 &lt; 2", "&quot;x&quot;"]
        {
            assert!(html.contains(words), "{words}\n{html}");
        }
    }
}

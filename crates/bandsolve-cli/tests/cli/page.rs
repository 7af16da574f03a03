//! Tests of `bandsolve bench --report`: a self-contained page, which opens in a browser if the machine has one.

use crate::pictures::pixels;
use crate::*;
use bandsolve_testkit::skipped;

/// Run a benchmark. Returns the path of its page and its output.
fn page(folder: &Folder, bench: &str) -> (String, String) {
    let path = folder.path("report.html");
    let words: Vec<&str> = ["bench"].into_iter().chain(bench.split(' ')).chain(["--report", &path]).collect();
    let text = bandsolve(&words).exits(0).stdout;
    (path, text)
}

/// Number of lines with results in the printed tables.
fn lines(text: &str) -> usize {
    let solvers = text.split("\n\n").skip(1).flat_map(|table| table.lines().skip(2));
    solvers.filter(|line| !line.contains("peak memory")).count()
}

/// Check that the page loads nothing. The names of XML namespaces do not count.
#[track_caller]
fn check_self_contained(html: &str) {
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn a_page_has_everything() {
    let folder = Folder::new();
    for (bench, facts) in [
        ("tridiagonal --quick --n 500,1000 --threads 1 --data random", ["ns per row", "n = 1000, f32, random data"]),
        ("methods --quick --n 300 --threads 1 --method thomas,rpts", ["ns per row", "n = 300, f64, chang17 data"]),
        ("batch --quick --count 16 --n 32 --threads 1", ["ns per row", "interleaved"]),
        ("block --quick --block 9 --n 100 --threads 1", ["speedup vs band LU", "block rows of 9"]),
        ("banded --quick --n 300 --half-bandwidths 2 --threads 1", ["ns per row", "half-bandwidth 2"]),
        ("sparse --quick --n 700 --n-rhs 3 --threads 1", ["speedup vs dense", "3 columns of 10 entries"]),
    ] {
        let (path, text) = page(&folder, bench);
        let html = std::fs::read_to_string(&path).expect("a page");
        check_self_contained(&html);
        assert_eq!(html.matches("<tr><td>").count(), lines(&text), "{bench}\n{text}");
        assert_eq!(html.matches("<svg ").count(), 1, "{bench}");
        let version = format!("bandsolve {}", env!("CARGO_PKG_VERSION"));
        let name = format!("<h1>bandsolve bench {}</h1>", bench.split(' ').next().unwrap());
        let command = format!("bandsolve bench {bench} --report {path}");
        let shared =
            ["<dt>machine</dt>", "cores", "MiB of cache", "simd", " UTC", "<h2>How to read it</h2>", "backward error"];
        for words in shared.iter().copied().chain(facts).chain([&*name, &version, &command]) {
            assert!(html.contains(words) || words == "cores" && html.contains("1 core"), "{words}\n{html}");
        }
    }
}

#[test]
fn a_page_of_a_device_has_answers_and_times() {
    let folder = Folder::new();
    let (path, _) = page(&folder, "gpu --device emulated --quick --dtype f64");
    let html = std::fs::read_to_string(&path).expect("a page");
    check_self_contained(&html);
    // 11 systems in the accuracy table; 7 systems with four solvers each in the time tables.
    assert_eq!(html.matches("<tr><td>").count(), 11 + 7 * 4);
    assert!(html.contains("<dt>device</dt>") && html.contains("of copy") && html.contains("<svg "), "{html}");
    let (path, _) = page(&folder, "gpu --device emulated --quick --dtype f64 --only accuracy");
    assert!(!std::fs::read_to_string(&path).unwrap().contains("<svg "), "nothing to draw");
}

#[test]
fn pages_do_not_share_a_file() {
    bandsolve(&["bench", "sparse", "--json", "-", "--report", "-"]).fails(2, "same file");
    let folder = Folder::new();
    let path = folder.path("no/report.html");
    let args = ["bench", "batch", "--quick", "--count", "4", "--n", "8", "--report", &path];
    assert!(bandsolve(&args).exits(1).stderr.contains("cannot be written"));
}

/// The browser, if there is one.
fn browser() -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// Run the browser without a window. Returns its output.
fn browse(browser: &Path, folder: &Folder, more: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", folder.path("profile"));
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        &profile,
    ];
    let output = Command::new(browser).args(quiet).args(more).output().expect("the browser starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_browser_shows_the_page_in_light_and_in_dark() {
    let Some(browser) = browser() else {
        return skipped("no chromium, chromium-browser or google-chrome on the PATH to open a page in");
    };
    let folder = Folder::new();
    let (path, text) = page(&folder, "tridiagonal --quick --n 500,1000 --threads 1 --dtype f64");
    let address = format!("file://{path}");
    let dom = browse(&browser, &folder, &["--dump-dom", &address]);
    assert_eq!(dom.matches("<tr><td>").count(), lines(&text), "{text}\n{dom}");
    assert!(dom.contains("<svg ") && dom.contains("class=\"series\"") && dom.contains("<dt>machine</dt>"), "{dom}");
    check_self_contained(&dom);
    for (scheme, ground, page) in [("1", 255, "light"), ("0", 24, "dark")] {
        let shot = folder.path(&format!("{page}.png"));
        let options = [format!("--screenshot={shot}"), format!("--blink-settings=preferredColorScheme={scheme}")];
        browse(&browser, &folder, &[&options[0], &options[1], "--window-size=1280,1600", &address]);
        let (width, _, pixels) = pixels(&shot);
        let near = |pixel: &[u8; 4], value: u8| pixel[..3].iter().all(|part| part.abs_diff(value) <= 12);
        assert!(near(&pixels[0], ground), "{page}: {:?}", pixels[0]);
        let words = pixels.iter().filter(|pixel| near(pixel, if page == "light" { 34 } else { 232 })).count();
        assert!(width == 1280 && words > 1000, "{page}: {words} pixels of words");
    }
}

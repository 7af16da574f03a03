# A formula for a tap. `packaging/fill.py` replaces the words between @ for a release: version, repository and the checksums of the archives.
class Bandsolve < Formula
  desc "Solve tridiagonal, banded and sparse linear systems, and check every answer"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/bandsolve-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256_AARCH64_APPLE_DARWIN@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/bandsolve-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256_X86_64_APPLE_DARWIN@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/bandsolve-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_AARCH64_UNKNOWN_LINUX_GNU@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/bandsolve-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_X86_64_UNKNOWN_LINUX_GNU@"
    end
  end

  def install
    bin.install "bandsolve"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/bandsolve.bash" => "bandsolve"
    fish_completion.install "completions/bandsolve.fish"
    zsh_completion.install "completions/_bandsolve"
    # Homebrew links LICENSE files itself, but not the licences of the libraries in the program.
    doc.install "LICENSE-THIRD-PARTY"
  end

  test do
    system bin/"bandsolve", "generate", "diffusion", "1000", "--out", "A.mtx"
    assert_match "backward error", shell_output("#{bin}/bandsolve solve A.mtx")
  end
end

! Every kind of system from Fortran, each with a solution that is known: factors, conditions, determinants, batches and eigenvalues.
program systems
  use, intrinsic :: iso_fortran_env, only: real32, real64, error_unit
  use bandsolve
  implicit none
  integer :: passed = 0

  call tridiagonal()
  call periodic()
  call banded()
  call positive_definite()
  call blocks()
  call batches()
  call batches_of_bands()
  call batches_of_definite_bands()
  call batches_of_rings()
  call batches_of_blocks()
  call eigenvalues()
  call failures()
  call bandsolve_shutdown()
  print '(i0, a)', passed, " passed"

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (.not. condition) then
      write (error_unit, '(2a)') "FAILED: ", what
      error stop 1
    end if
    passed = passed + 1
  end subroutine

  ! Rows -x(i-1) + 4 x(i) - x(i+1), in all number types, with one and with two right-hand sides.
  subroutine tridiagonal()
    integer, parameter :: n = 50
    real(real64) :: off(n - 1), diag(n), x(n), two(n, 2), rcond, phase, log_abs
    real(real32) :: x_s(n)
    complex(real64) :: x_z(n), off_z(n - 1)
    complex(real32) :: x_c(n)
    type(band_factor) :: a, a_s, a_z, a_c
    off = -1
    diag = 4
    x = rhs_of_ones(n)
    call gtsv(off, diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gtsv")
    two(:, 1) = rhs_of_ones(n)
    two(:, 2) = -3 * rhs_of_ones(n)
    call gttrf(a, off, diag, off)
    call gttrs(a, two)
    call check(all(abs(two(:, 1) - 1) < 1e-14_real64) .and. all(abs(two(:, 2) + 3) < 1e-14_real64), "gttrs")
    call factor_rcond(a, rcond)
    call check(rcond > 0.3_real64 .and. rcond < 0.4_real64, "factor_rcond")
    call gttrf(a, 0 * off, -diag, 0 * off)
    call factor_det(a, phase, log_abs)
    call check(phase > 0 .and. abs(log_abs - n * log(4.0_real64)) < 1e-10_real64, "factor_det")

    x_s = real(rhs_of_ones(n), real32)
    call gttrf(a_s, real(off, real32), real(diag, real32), real(off, real32))
    call gttrs(a_s, x_s, trans='T')
    call check(all(abs(x_s - 1) < 1e-5_real32), "gttrs in single precision")
    ! The matrix 4 + i on and beside the diagonal: A^H has -i there.
    off_z = (0, 1)
    x_z = (4, -2)
    x_z(1) = (4, -1)
    x_z(n) = (4, -1)
    call gttrf(a_z, off_z, cmplx(diag, kind=real64), off_z)
    call gttrs(a_z, x_z, trans='C')
    call check(all(abs(x_z - 1) < 1e-14_real64), "gttrs, complex")
    x_c = cmplx(rhs_of_ones(n), kind=real32)
    call gttrf(a_c, cmplx(off, kind=real32), cmplx(diag, kind=real32), cmplx(off, kind=real32))
    call gttrs(a_c, x_c)
    call check(all(abs(x_c - 1) < 1e-5_real32), "gttrs, complex in single precision")
  end subroutine

  ! A x for the matrix above and x = 1.
  function rhs_of_ones(n) result(rhs)
    integer, intent(in) :: n
    real(real64) :: rhs(n)
    rhs = 2
    rhs(1) = 3
    rhs(n) = 3
  end function

  subroutine periodic()
    integer, parameter :: n = 40
    real(real64) :: off(n), diag(n), x(n)
    type(band_factor) :: a
    off = -1
    diag = 4
    x = 2
    call cgtsv(off, diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cgtsv")
    x = 2
    call cgttrf(a, off, diag, off)
    call cgttrs(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cgttrs")
  end subroutine

  ! kl = 2, ku = 1: rows with 8 on the diagonal and -1 beside it.
  subroutine banded()
    integer, parameter :: n = 30, kl = 2, ku = 1
    real(real64) :: ab(2 * kl + ku + 1, n), x(n), rhs(n)
    type(band_factor) :: a
    integer :: i
    ab = -1
    ab(kl + ku + 1, :) = 8
    rhs = [(8 - count([i > 2, i > 1, i < n]), i = 1, n)]
    x = rhs
    call gbsv(kl, ku, ab, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gbsv")
    x = rhs
    call gbtrf(a, kl, ku, ab)
    call gbtrs(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gbtrs")
  end subroutine

  subroutine positive_definite()
    integer, parameter :: n = 30
    real(real64) :: diag(n), off(n - 1), ab(2, n), x(n)
    type(band_factor) :: a
    character(:), allocatable :: message
    integer :: status
    diag = 4
    off = -1
    x = rhs_of_ones(n)
    call ptsv(diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "ptsv")
    call pttrf(a, diag, off)
    x = rhs_of_ones(n)
    call pttrs(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "pttrs")
    ! The lower triangle: the diagonal is the first row.
    ab(1, :) = 4
    ab(2, :) = -1
    x = rhs_of_ones(n)
    call pbsv(ab, x, uplo='L')
    call check(all(abs(x - 1) < 1e-14_real64), "pbsv")
    call pbtrf(a, ab, uplo='L')
    x = rhs_of_ones(n)
    call pbtrs(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "pbtrs")
    call ptsv(diag / 8, off, x, status)
    call check(status == BANDSOLVE_NOT_DEFINITE, "an indefinite matrix")
    message = bandsolve_last_error()
    call check(len(message) > 0, "a message")
  end subroutine

  ! Blocks of two rows: [8 1; 1 8] on the diagonal, the unit matrix beside it.
  subroutine blocks()
    integer, parameter :: n = 20
    real(real64) :: off(2, 2, n - 1), diag(2, 2, n), x(2 * n), rhs(2 * n)
    type(band_factor) :: a
    diag = 1
    diag(1, 1, :) = 8
    diag(2, 2, :) = 8
    off = 0
    off(1, 1, :) = 1
    off(2, 2, :) = 1
    rhs = 11
    rhs(:2) = 10
    rhs(2 * n - 1:) = 10
    x = rhs
    call bgtsv(off, diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "bgtsv")
    call bgttrf(a, off, diag, off)
    x = rhs
    call bgttrs(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "bgttrs")
  end subroutine

  subroutine batches()
    integer, parameter :: n = 20, count = 7
    real(real64) :: off(n, count), diag(n, count), x(n, count), rhs(n, count)
    type(band_factor) :: a
    off = -1
    diag = 4
    rhs = spread(rhs_of_ones(n), 2, count)
    x = rhs
    call gtsv_batch(off, diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gtsv_batch")
    x = rhs
    call gtsv_batch(off(:, :1), diag(:, :1), off(:, :1), x)
    call check(all(abs(x - 1) < 1e-14_real64), "gtsv_batch, one matrix")
    x = rhs
    call gttrf_batch(a, off(:, :1), diag(:, :1), off(:, :1), count)
    call gttrs_batch(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gttrs_batch")
    ! Each row of a periodic matrix has the sum 2.
    x = 2
    call cgtsv_batch(off, diag, off, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cgtsv_batch")
    x = 2
    call cgttrf_batch(a, off(:, :1), diag(:, :1), off(:, :1), count)
    call gttrs_batch(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cgttrf_batch")
  end subroutine

  ! Pentadiagonal systems: 6 on the diagonal, and 1 beside it. System s is s times the first one.
  subroutine batches_of_bands()
    integer, parameter :: n = 20, count = 7, kl = 2, ku = 2
    real(real64) :: ab(kl + ku + 1, n, count), x(n, count), rhs(n, count)
    type(band_factor) :: a
    integer :: i, s
    do s = 1, count
      ab(:, :, s) = s
      ab(ku + 1, :, s) = 6 * s
      rhs(:, s) = [(s * (5 + min(n, i + kl) - max(1, i - ku) + 1), i = 1, n)]
    end do
    x = rhs
    call gbsv_batch(kl, ku, ab, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gbsv_batch")
    x = spread(rhs(:, 1), 2, count)
    call gbsv_batch(kl, ku, ab(:, :, :1), x)
    call check(all(abs(x - 1) < 1e-14_real64), "gbsv_batch, one matrix")
    call gbtrf_batch(a, kl, ku, ab)
    x = rhs
    call gbtrs_batch(a, x, trans='T')
    call check(all(abs(x - 1) < 1e-14_real64), "gbtrs_batch")
    call gbtrf_batch(a, kl, ku, ab(:, :, :1), count)
    x = spread(rhs(:, 1), 2, count)
    call gbtrs_batch(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "gbtrf_batch, one matrix")
  end subroutine

  ! Positive definite systems with 4 s and -s in two diagonals, open and periodic: the rows of system s have the sum 2 s.
  subroutine batches_of_definite_bands()
    integer, parameter :: n = 20, count = 7
    real(real64) :: ab(2, n, count), x(n, count), rhs(n, count)
    type(band_factor) :: a
    integer :: s
    do s = 1, count
      ab(1, :, s) = -s
      ab(2, :, s) = 4 * s
      rhs(:, s) = 2 * s
    end do
    x = rhs
    call cpbsv_batch(ab, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cpbsv_batch")
    call cpbtrf_batch(a, ab(:, :, :1), count=count)
    x = 2
    call pbtrs_batch(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cpbtrf_batch, one matrix")
    rhs(1, :) = [(3 * s, s = 1, count)]
    rhs(n, :) = rhs(1, :)
    x = rhs
    call pbsv_batch(ab, x, 'U')
    call check(all(abs(x - 1) < 1e-14_real64), "pbsv_batch")
    call pbtrf_batch(a, ab)
    x = rhs
    call pbtrs_batch(a, x, 'T')
    call check(all(abs(x - 1) < 1e-14_real64), "pbtrs_batch")
  end subroutine

  ! Periodic pentadiagonal systems: each row of system s has the sum 10 s.
  subroutine batches_of_rings()
    integer, parameter :: n = 20, count = 7, kl = 2, ku = 2
    real(real64) :: ab(kl + ku + 1, n, count), x(n, count)
    type(band_factor) :: a
    integer :: s
    do s = 1, count
      ab(:, :, s) = s
      ab(ku + 1, :, s) = 6 * s
      x(:, s) = 10 * s
    end do
    call cgbsv_batch(kl, ku, ab, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cgbsv_batch")
    call cgbtrf_batch(a, kl, ku, ab(:, :, :1), count)
    x = 10
    call gbtrs_batch(a, x, trans='T')
    call check(all(abs(x - 1) < 1e-14_real64), "cgbtrf_batch, one matrix")
  end subroutine

  ! Blocks of two rows: 8 s on the diagonal, s beside it in the block, and s times the identity beside the block.
  subroutine batches_of_blocks()
    integer, parameter :: n = 10, count = 7
    real(real64) :: beside(2, 2, n, count), on(2, 2, n, count), x(2 * n, count), rhs(2 * n, count)
    type(band_factor) :: a
    integer :: s
    do s = 1, count
      on(:, :, :, s) = spread(reshape([8, 1, 1, 8] * real(s, real64), [2, 2]), 3, n)
      beside(:, :, :, s) = spread(reshape([1, 0, 0, 1] * real(s, real64), [2, 2]), 3, n)
      rhs(:, s) = 11 * s
    end do
    x = rhs
    call cbgtsv_batch(beside, on, beside, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cbgtsv_batch")
    call cbgttrf_batch(a, beside(:, :, :, :1), on(:, :, :, :1), beside(:, :, :, :1), count)
    x = 11
    call bgttrs_batch(a, x)
    call check(all(abs(x - 1) < 1e-14_real64), "cbgttrf_batch, one matrix")
    do s = 1, count
      rhs([1, 2, 2 * n - 1, 2 * n], s) = 10 * s
    end do
    x = rhs
    call bgtsv_batch(beside, on, beside, x)
    call check(all(abs(x - 1) < 1e-14_real64), "bgtsv_batch")
    call bgttrf_batch(a, beside, on, beside)
    x = rhs
    call bgttrs_batch(a, x, trans='C')
    call check(all(abs(x - 1) < 1e-14_real64), "bgttrs_batch")
  end subroutine

  ! 2 - 2 cos(k pi / (n + 1)) of the second difference.
  subroutine eigenvalues()
    integer, parameter :: n = 30
    real(real64), parameter :: pi = acos(-1.0_real64)
    real(real64) :: diag(n), off(n - 1), w(n), z(n, 2), exact(n)
    integer :: i, m, below
    diag = 2
    off = -1
    exact = [(2 - 2 * cos(i * pi / (n + 1)), i = 1, n)]
    call sterf(diag, off, w)
    call check(all(abs(w - exact) < 1e-13_real64), "sterf")
    call stevr(diag, off, m, w, z, il=2, iu=3)
    call check(m == 2 .and. all(abs(w(:2) - exact(2:3)) < 1e-13_real64), "stevr")
    call check(abs(dot_product(z(:, 1), z(:, 2))) < 1e-12_real64 .and. abs(norm2(z(:, 1)) - 1) < 1e-13_real64, "eigenvectors")
    call stevr(diag, off, m, w, vu=1.0_real64)
    call check(m == count(exact <= 1), "stevr, an interval")
    call stcount(diag, off, 2.0_real64, below)
    call check(below == n / 2, "stcount")
  end subroutine

  subroutine failures()
    real(real64) :: off(2), diag(3), x(3)
    type(band_factor) :: a
    character(:), allocatable :: message
    integer :: status
    off = 0
    diag = 0
    x = 1
    call gtsv(off, diag, off, x, status)
    call check(status == BANDSOLVE_SINGULAR, "a singular matrix")
    call gttrs(a, x, status=status)
    call check(status == BANDSOLVE_INVALID_ARGUMENT, "no factors")
    call gttrf(a, off, diag + 1, off)
    call gttrs(a, x, trans='X', status=status)
    message = bandsolve_last_error()
    call check(status == BANDSOLVE_INVALID_ARGUMENT .and. index(message, "trans is 'X'") == 1, "trans")
    call a%free()
    message = bandsolve_version()
    call check(len(message) > 0, "version")
  end subroutine
end program

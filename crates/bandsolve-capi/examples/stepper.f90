! Implicit time steps of the heat equation u_t = u_xx with u = 0 at x = 0 and x = 1. The matrix is factored once. A step solves
! with the factors, in place.
!
!     (u_new - u) / dt = second difference of u_new,   u = sin(pi x) at t = 0,   exact: exp(-pi^2 t) sin(pi x)
program stepper
  use, intrinsic :: iso_fortran_env, only: real64
  use bandsolve
  implicit none
  integer, parameter :: n = 1000, steps = 100
  real(real64), parameter :: dt = 1e-4_real64, r = dt * (n + 1)**2, pi = acos(-1.0_real64)
  real(real64) :: off(n - 1), diag(n), u(n), exact(n), error, worst
  type(band_factor) :: a
  type(bandsolve_report) :: report
  integer :: i, step

  off = -r
  diag = 1 + 2 * r
  u = [(sin(pi * i / (n + 1)), i = 1, n)]
  call gttrf(a, off, diag, off)

  worst = 0
  do step = 1, steps
    call gttrs(a, u)
    report = bandsolve_last_report()
    worst = max(worst, report%backward_error)
  end do

  exact = exp(-pi**2 * dt * steps) * [(sin(pi * i / (n + 1)), i = 1, n)]
  error = maxval(abs(u - exact))
  print '(i0, a, i0, a, es8.1, a, es8.1)', steps, " steps of ", n, " unknowns: error ", error, ", backward error at most ", worst
  if (.not. (error < 1e-3_real64 .and. worst <= 2e-15_real64)) error stop "u is wrong"
  print '(a)', "2 passed"
end program

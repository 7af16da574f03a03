! bandsolve from Fortran: LAPACK's names, with any kind of number under the same name.
!
!     use bandsolve
!     type(band_factor) :: a
!     call gttrf(a, sub, diag, sup)     ! factor once
!     call gttrs(a, rhs)                ! solve at every step; x overwrites rhs
!
! Arrays have one or two dimensions: rhs(:) is one right-hand side, rhs(:, :) has one in each column.
!
! Every routine has the optional argument `status`. Without it, a failure stops the program with a message. With it,
! `bandsolve_last_error()` returns the message. An array of the wrong size always stops the program.
!
! The C header bandsolve.h describes the routines.
!
! Generated from crates/bandsolve-capi/fortran/bandsolve.f90.in for all number types.
module bandsolve
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  integer, parameter, public :: BANDSOLVE_SUCCESS = 0
  integer, parameter, public :: BANDSOLVE_INVALID_ARGUMENT = 1
  integer, parameter, public :: BANDSOLVE_NOT_FINITE = 2
  integer, parameter, public :: BANDSOLVE_SINGULAR = 3
  integer, parameter, public :: BANDSOLVE_NOT_CONVERGED = 4
  integer, parameter, public :: BANDSOLVE_UNSUPPORTED = 5
  integer, parameter, public :: BANDSOLVE_OUT_OF_MEMORY = 6
  integer, parameter, public :: BANDSOLVE_INVALID_BUFFER = 7
  integer, parameter, public :: BANDSOLVE_INTERNAL_ERROR = 8
  integer, parameter, public :: BANDSOLVE_NOT_DEFINITE = 11

  ! The factors of one matrix, which are freed when the variable goes out of scope. Factors cannot be copied.
  type, public :: band_factor
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: free => factor_free
    procedure, private :: factor_copy
    generic :: assignment(=) => factor_copy
    final :: factor_final
  end type

  ! How the last solve on this thread went; see bandsolve_report_t in bandsolve.h.
  type, bind(c), public :: bandsolve_report
    integer(c_size_t) :: size = 0
    real(c_double) :: backward_error = 0
    integer(c_int32_t) :: refinement_steps = 0
    integer(c_int32_t) :: fallback = 0
    character(kind=c_char) :: method(32) = c_null_char
    character(kind=c_char) :: attention(160) = c_null_char
  end type

  public :: bandsolve_last_error, bandsolve_last_report, bandsolve_set_threads, bandsolve_shutdown, bandsolve_version
  public :: factor_det, factor_rcond, stcount, sterf, stevr
  public :: gtsv, gttrf, gttrs
  public :: cgtsv, cgttrf, cgttrs
  public :: gbsv, gbtrf, gbtrs
  public :: ptsv, pttrf, pttrs
  public :: pbsv, pbtrf, pbtrs
  public :: bgtsv, bgttrf, bgttrs
  public :: gtsv_batch, cgtsv_batch, gttrf_batch, cgttrf_batch, gttrs_batch
  public :: gbsv_batch, cgbsv_batch, gbtrf_batch, cgbtrf_batch, gbtrs_batch
  public :: pbsv_batch, cpbsv_batch, pbtrf_batch, cpbtrf_batch, pbtrs_batch
  public :: bgtsv_batch, cbgtsv_batch, bgttrf_batch, cbgttrf_batch, bgttrs_batch

  interface gtsv
    module procedure gtsv_s1, gtsv_s2
    module procedure gtsv_d1, gtsv_d2
    module procedure gtsv_c1, gtsv_c2
    module procedure gtsv_z1, gtsv_z2
  end interface
  interface gttrs
    module procedure gttrs_s1, gttrs_s2
    module procedure gttrs_d1, gttrs_d2
    module procedure gttrs_c1, gttrs_c2
    module procedure gttrs_z1, gttrs_z2
  end interface
  interface gttrf
    module procedure gttrf_s
    module procedure gttrf_d
    module procedure gttrf_c
    module procedure gttrf_z
  end interface
  interface cgtsv
    module procedure cgtsv_s1, cgtsv_s2
    module procedure cgtsv_d1, cgtsv_d2
    module procedure cgtsv_c1, cgtsv_c2
    module procedure cgtsv_z1, cgtsv_z2
  end interface
  interface cgttrs
    module procedure cgttrs_s1, cgttrs_s2
    module procedure cgttrs_d1, cgttrs_d2
    module procedure cgttrs_c1, cgttrs_c2
    module procedure cgttrs_z1, cgttrs_z2
  end interface
  interface cgttrf
    module procedure cgttrf_s
    module procedure cgttrf_d
    module procedure cgttrf_c
    module procedure cgttrf_z
  end interface
  interface gbsv
    module procedure gbsv_s1, gbsv_s2
    module procedure gbsv_d1, gbsv_d2
    module procedure gbsv_c1, gbsv_c2
    module procedure gbsv_z1, gbsv_z2
  end interface
  interface gbtrs
    module procedure gbtrs_s1, gbtrs_s2
    module procedure gbtrs_d1, gbtrs_d2
    module procedure gbtrs_c1, gbtrs_c2
    module procedure gbtrs_z1, gbtrs_z2
  end interface
  interface gbtrf
    module procedure gbtrf_s
    module procedure gbtrf_d
    module procedure gbtrf_c
    module procedure gbtrf_z
  end interface
  interface ptsv
    module procedure ptsv_s1, ptsv_s2
    module procedure ptsv_d1, ptsv_d2
    module procedure ptsv_c1, ptsv_c2
    module procedure ptsv_z1, ptsv_z2
  end interface
  interface pttrs
    module procedure pttrs_s1, pttrs_s2
    module procedure pttrs_d1, pttrs_d2
    module procedure pttrs_c1, pttrs_c2
    module procedure pttrs_z1, pttrs_z2
  end interface
  interface pttrf
    module procedure pttrf_s
    module procedure pttrf_d
    module procedure pttrf_c
    module procedure pttrf_z
  end interface
  interface pbsv
    module procedure pbsv_s1, pbsv_s2
    module procedure pbsv_d1, pbsv_d2
    module procedure pbsv_c1, pbsv_c2
    module procedure pbsv_z1, pbsv_z2
  end interface
  interface pbtrs
    module procedure pbtrs_s1, pbtrs_s2
    module procedure pbtrs_d1, pbtrs_d2
    module procedure pbtrs_c1, pbtrs_c2
    module procedure pbtrs_z1, pbtrs_z2
  end interface
  interface pbtrf
    module procedure pbtrf_s
    module procedure pbtrf_d
    module procedure pbtrf_c
    module procedure pbtrf_z
  end interface
  interface bgtsv
    module procedure bgtsv_s1, bgtsv_s2
    module procedure bgtsv_d1, bgtsv_d2
    module procedure bgtsv_c1, bgtsv_c2
    module procedure bgtsv_z1, bgtsv_z2
  end interface
  interface bgttrs
    module procedure bgttrs_s1, bgttrs_s2
    module procedure bgttrs_d1, bgttrs_d2
    module procedure bgttrs_c1, bgttrs_c2
    module procedure bgttrs_z1, bgttrs_z2
  end interface
  interface bgttrf
    module procedure bgttrf_s
    module procedure bgttrf_d
    module procedure bgttrf_c
    module procedure bgttrf_z
  end interface
  interface gtsv_batch
    module procedure gtsv_batch_s
    module procedure gtsv_batch_d
    module procedure gtsv_batch_c
    module procedure gtsv_batch_z
  end interface
  interface cgtsv_batch
    module procedure cgtsv_batch_s
    module procedure cgtsv_batch_d
    module procedure cgtsv_batch_c
    module procedure cgtsv_batch_z
  end interface
  interface gttrf_batch
    module procedure gttrf_batch_s
    module procedure gttrf_batch_d
    module procedure gttrf_batch_c
    module procedure gttrf_batch_z
  end interface
  interface cgttrf_batch
    module procedure cgttrf_batch_s
    module procedure cgttrf_batch_d
    module procedure cgttrf_batch_c
    module procedure cgttrf_batch_z
  end interface
  interface gttrs_batch
    module procedure gttrs_batch_s
    module procedure gttrs_batch_d
    module procedure gttrs_batch_c
    module procedure gttrs_batch_z
  end interface
  interface gbsv_batch
    module procedure gbsv_batch_s
    module procedure gbsv_batch_d
    module procedure gbsv_batch_c
    module procedure gbsv_batch_z
  end interface
  interface gbtrf_batch
    module procedure gbtrf_batch_s
    module procedure gbtrf_batch_d
    module procedure gbtrf_batch_c
    module procedure gbtrf_batch_z
  end interface
  interface cgbsv_batch
    module procedure cgbsv_batch_s
    module procedure cgbsv_batch_d
    module procedure cgbsv_batch_c
    module procedure cgbsv_batch_z
  end interface
  interface cgbtrf_batch
    module procedure cgbtrf_batch_s
    module procedure cgbtrf_batch_d
    module procedure cgbtrf_batch_c
    module procedure cgbtrf_batch_z
  end interface
  interface pbsv_batch
    module procedure pbsv_batch_s
    module procedure pbsv_batch_d
    module procedure pbsv_batch_c
    module procedure pbsv_batch_z
  end interface
  interface pbtrf_batch
    module procedure pbtrf_batch_s
    module procedure pbtrf_batch_d
    module procedure pbtrf_batch_c
    module procedure pbtrf_batch_z
  end interface
  interface cpbsv_batch
    module procedure cpbsv_batch_s
    module procedure cpbsv_batch_d
    module procedure cpbsv_batch_c
    module procedure cpbsv_batch_z
  end interface
  interface cpbtrf_batch
    module procedure cpbtrf_batch_s
    module procedure cpbtrf_batch_d
    module procedure cpbtrf_batch_c
    module procedure cpbtrf_batch_z
  end interface
  interface pbtrs_batch
    module procedure pbtrs_batch_s
    module procedure pbtrs_batch_d
    module procedure pbtrs_batch_c
    module procedure pbtrs_batch_z
  end interface
  interface bgtsv_batch
    module procedure bgtsv_batch_s
    module procedure bgtsv_batch_d
    module procedure bgtsv_batch_c
    module procedure bgtsv_batch_z
  end interface
  interface cbgtsv_batch
    module procedure cbgtsv_batch_s
    module procedure cbgtsv_batch_d
    module procedure cbgtsv_batch_c
    module procedure cbgtsv_batch_z
  end interface
  interface bgttrf_batch
    module procedure bgttrf_batch_s
    module procedure bgttrf_batch_d
    module procedure bgttrf_batch_c
    module procedure bgttrf_batch_z
  end interface
  interface cbgttrf_batch
    module procedure cbgttrf_batch_s
    module procedure cbgttrf_batch_d
    module procedure cbgttrf_batch_c
    module procedure cbgttrf_batch_z
  end interface
  interface bgttrs_batch
    module procedure bgttrs_batch_s
    module procedure bgttrs_batch_d
    module procedure bgttrs_batch_c
    module procedure bgttrs_batch_z
  end interface
  interface gbtrs_batch
    module procedure gbtrs_batch_s
    module procedure gbtrs_batch_d
    module procedure gbtrs_batch_c
    module procedure gbtrs_batch_z
  end interface
  interface factor_det
    module procedure factor_det_s
    module procedure factor_det_d
    module procedure factor_det_c
    module procedure factor_det_z
  end interface
  interface sterf
    module procedure sterf_s
    module procedure sterf_d
  end interface
  interface stevr
    module procedure stevr_s
    module procedure stevr_d
  end interface
  interface stcount
    module procedure stcount_s
    module procedure stcount_d
  end interface

  interface
    function c_factor_create(factor) result(status) bind(c, name="bandsolve_factor_create")
      import
      type(c_ptr), intent(out) :: factor
      integer(c_int) :: status
    end function
    function c_factor_destroy(factor) result(status) bind(c, name="bandsolve_factor_destroy")
      import
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_factor_rcond(norm, factor, rcond) result(status) bind(c, name="bandsolve_factor_rcond")
      import
      integer(c_signed_char), value :: norm
      type(c_ptr), value :: factor
      real(c_double), intent(out) :: rcond
      integer(c_int) :: status
    end function
    function c_shutdown() result(status) bind(c, name="bandsolve_shutdown")
      import
      integer(c_int) :: status
    end function
    function c_last_error() result(text) bind(c, name="bandsolveLastError")
      import
      type(c_ptr) :: text
    end function
    function c_version() result(text) bind(c, name="bandsolveVersion")
      import
      type(c_ptr) :: text
    end function
    function c_last_report(report) result(status) bind(c, name="bandsolveLastReport")
      import
      type(bandsolve_report), intent(inout) :: report
      integer(c_int) :: status
    end function
    function c_set_threads(threads) result(status) bind(c, name="bandsolveSetThreads")
      import
      integer(c_int64_t), value :: threads
      integer(c_int) :: status
    end function
    function c_strlen(text) result(length) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function c_sgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sgtsv")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_sgttrf")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_sgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_scgtsv")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_scgttrf")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_scgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_scgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgbsv(n, kl, ku, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sgbsv")
      import
      integer(c_int64_t), value :: n, kl, ku
      real(c_float), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgbtrf(n, kl, ku, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_sgbtrf")
      import
      integer(c_int64_t), value :: n, kl, ku
      real(c_float), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_sgbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sgbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sptsv(n, n_rhs, diag, off, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sptsv")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*)
      real(c_float), intent(in) :: off(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_spttrf(n, diag, off, factor) &
        result(status) bind(c, name="bandsolve_spttrf")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*)
      real(c_float), intent(in) :: off(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_spttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_spttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_spbsv(uplo, n, kd, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_spbsv")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      real(c_float), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_spbtrf(uplo, n, kd, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_spbtrf")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      real(c_float), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_spbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_spbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sbgtsv(n, block, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sbgtsv")
      import
      integer(c_int64_t), value :: n, block
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sbgttrf(n, block, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_sbgttrf")
      import
      integer(c_int64_t), value :: n, block
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_sbgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_sbgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sfactor_det(factor, phase, log_abs) &
        result(status) bind(c, name="bandsolve_sfactor_det")
      import
      type(c_ptr), value :: factor
      real(c_float), intent(out) :: phase
      real(c_double), intent(out) :: log_abs
      integer(c_int) :: status
    end function
    function c_sgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_sgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_scgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_sgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_scgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_scgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_sgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_sgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_sgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_sgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_scgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_scgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_scgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_spbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_spbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_spbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_spbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_scpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_scpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_scpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_spbtrs_batch(trans, factor, rhs) result(status) bind(c, name="bandsolve_spbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_sbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_scbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_scbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_sbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_scbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_scbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_float), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_sbgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_sbgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_sgbtrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_sgbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_float), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dgtsv")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_dgttrf")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dcgtsv")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_dcgttrf")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dcgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dcgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgbsv(n, kl, ku, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dgbsv")
      import
      integer(c_int64_t), value :: n, kl, ku
      real(c_double), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgbtrf(n, kl, ku, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_dgbtrf")
      import
      integer(c_int64_t), value :: n, kl, ku
      real(c_double), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dgbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dgbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dptsv(n, n_rhs, diag, off, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dptsv")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*)
      real(c_double), intent(in) :: off(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dpttrf(n, diag, off, factor) &
        result(status) bind(c, name="bandsolve_dpttrf")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*)
      real(c_double), intent(in) :: off(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dpttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dpttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dpbsv(uplo, n, kd, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dpbsv")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      real(c_double), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dpbtrf(uplo, n, kd, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_dpbtrf")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      real(c_double), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dpbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dpbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dbgtsv(n, block, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dbgtsv")
      import
      integer(c_int64_t), value :: n, block
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dbgttrf(n, block, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_dbgttrf")
      import
      integer(c_int64_t), value :: n, block
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dbgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_dbgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dfactor_det(factor, phase, log_abs) &
        result(status) bind(c, name="bandsolve_dfactor_det")
      import
      type(c_ptr), value :: factor
      real(c_double), intent(out) :: phase
      real(c_double), intent(out) :: log_abs
      integer(c_int) :: status
    end function
    function c_dgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_dgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_dcgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_dgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dcgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_dcgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_dgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_dgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_dgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dcgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_dcgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_dcgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_dpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_dpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dcpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_dcpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_dcpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dpbtrs_batch(trans, factor, rhs) result(status) bind(c, name="bandsolve_dpbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_dbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dcbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_dcbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_dbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dcbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_dcbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      real(c_double), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_dbgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_dbgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_dgbtrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_dgbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      real(c_double), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cgtsv")
      import
      integer(c_int64_t), value :: n
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_cgttrf")
      import
      integer(c_int64_t), value :: n
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_ccgtsv")
      import
      integer(c_int64_t), value :: n
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_ccgttrf")
      import
      integer(c_int64_t), value :: n
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_ccgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_ccgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgbsv(n, kl, ku, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cgbsv")
      import
      integer(c_int64_t), value :: n, kl, ku
      complex(c_float_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgbtrf(n, kl, ku, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_cgbtrf")
      import
      integer(c_int64_t), value :: n, kl, ku
      complex(c_float_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cgbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cgbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cptsv(n, n_rhs, diag, off, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cptsv")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*)
      complex(c_float_complex), intent(in) :: off(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cpttrf(n, diag, off, factor) &
        result(status) bind(c, name="bandsolve_cpttrf")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*)
      complex(c_float_complex), intent(in) :: off(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cpttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cpttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cpbsv(uplo, n, kd, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cpbsv")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      complex(c_float_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cpbtrf(uplo, n, kd, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_cpbtrf")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      complex(c_float_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cpbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cpbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cbgtsv(n, block, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cbgtsv")
      import
      integer(c_int64_t), value :: n, block
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cbgttrf(n, block, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_cbgttrf")
      import
      integer(c_int64_t), value :: n, block
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cbgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_cbgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cfactor_det(factor, phase, log_abs) &
        result(status) bind(c, name="bandsolve_cfactor_det")
      import
      type(c_ptr), value :: factor
      complex(c_float_complex), intent(out) :: phase
      real(c_double), intent(out) :: log_abs
      integer(c_int) :: status
    end function
    function c_cgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_cgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_ccgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_cgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_ccgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_ccgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_cgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_cgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_cgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_ccgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_ccgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_ccgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_cpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_cpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_ccpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_ccpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_ccpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cpbtrs_batch(trans, factor, rhs) result(status) bind(c, name="bandsolve_cpbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_cbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ccbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_ccbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_cbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_ccbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_ccbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_float_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_cbgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_cbgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_cgbtrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_cgbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_float_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zgtsv")
      import
      integer(c_int64_t), value :: n
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_zgttrf")
      import
      integer(c_int64_t), value :: n
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcgtsv(n, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zcgtsv")
      import
      integer(c_int64_t), value :: n
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcgttrf(n, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_zcgttrf")
      import
      integer(c_int64_t), value :: n
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zcgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zcgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgbsv(n, kl, ku, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zgbsv")
      import
      integer(c_int64_t), value :: n, kl, ku
      complex(c_double_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgbtrf(n, kl, ku, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_zgbtrf")
      import
      integer(c_int64_t), value :: n, kl, ku
      complex(c_double_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zgbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zgbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zptsv(n, n_rhs, diag, off, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zptsv")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*)
      complex(c_double_complex), intent(in) :: off(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zpttrf(n, diag, off, factor) &
        result(status) bind(c, name="bandsolve_zpttrf")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*)
      complex(c_double_complex), intent(in) :: off(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zpttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zpttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zpbsv(uplo, n, kd, n_rhs, ab, ldab, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zpbsv")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      complex(c_double_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zpbtrf(uplo, n, kd, ab, ldab, factor) &
        result(status) bind(c, name="bandsolve_zpbtrf")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd
      complex(c_double_complex), intent(in) :: ab(*)
      integer(c_int64_t), value :: ldab
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zpbtrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zpbtrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zbgtsv(n, block, n_rhs, sub, diag, sup, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zbgtsv")
      import
      integer(c_int64_t), value :: n, block
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zbgttrf(n, block, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_zbgttrf")
      import
      integer(c_int64_t), value :: n, block
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zbgttrs(trans, n_rhs, factor, rhs, ld_rhs) &
        result(status) bind(c, name="bandsolve_zbgttrs")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      integer(c_int64_t), value :: n_rhs, ld_rhs
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zfactor_det(factor, phase, log_abs) &
        result(status) bind(c, name="bandsolve_zfactor_det")
      import
      type(c_ptr), value :: factor
      complex(c_double_complex), intent(out) :: phase
      real(c_double), intent(out) :: log_abs
      integer(c_int) :: status
    end function
    function c_zgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_zgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcgtsv_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, rhs) &
        result(status) bind(c, name="bandsolve_zcgtsv_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_zgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zcgttrf_batch(n, count, row_stride, system_stride, shared, sub, diag, sup, factor) &
        result(status) bind(c, name="bandsolve_zcgttrf_batch")
      import
      integer(c_int64_t), value :: n, count, row_stride, system_stride
      logical(c_bool), value :: shared
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_zgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_zgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_zgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zcgbsv_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_zcgbsv_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcgbtrf_batch(n, kl, ku, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_zcgbtrf_batch")
      import
      integer(c_int64_t), value :: n, kl, ku, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_zpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_zpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zcpbsv_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, rhs, row_stride, &
        system_stride) result(status) bind(c, name="bandsolve_zcpbsv_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcpbtrf_batch(uplo, n, kd, count, ab, ab_row_stride, ab_column_stride, ab_system_stride, row_stride, &
        system_stride, factor) result(status) bind(c, name="bandsolve_zcpbtrf_batch")
      import
      integer(c_signed_char), value :: uplo
      integer(c_int64_t), value :: n, kd, count, ab_row_stride, ab_column_stride, ab_system_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: ab(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zpbtrs_batch(trans, factor, rhs) result(status) bind(c, name="bandsolve_zpbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_zbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zcbgtsv_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, rhs, row_stride, system_stride) result(status) bind(c, name="bandsolve_zcbgtsv_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_zbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zcbgttrf_batch(n, block, count, sub, diag, sup, block_stride, entry_row_stride, entry_column_stride, &
        matrix_stride, row_stride, system_stride, factor) result(status) bind(c, name="bandsolve_zcbgttrf_batch")
      import
      integer(c_int64_t), value :: n, block, count, block_stride, entry_row_stride, entry_column_stride, matrix_stride
      integer(c_int64_t), value :: row_stride, system_stride
      complex(c_double_complex), intent(in) :: sub(*), diag(*), sup(*)
      type(c_ptr), value :: factor
      integer(c_int) :: status
    end function
    function c_zbgttrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_zbgttrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_zgbtrs_batch(trans, factor, rhs) &
        result(status) bind(c, name="bandsolve_zgbtrs_batch")
      import
      integer(c_signed_char), value :: trans
      type(c_ptr), value :: factor
      complex(c_double_complex), intent(inout) :: rhs(*)
      integer(c_int) :: status
    end function
    function c_ssterf(n, diag, off, w) &
        result(status) bind(c, name="bandsolve_ssterf")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*), off(*)
      real(c_float), intent(out) :: w(*)
      integer(c_int) :: status
    end function
    function c_sstevr(jobz, range, n, diag, off, vl, vu, il, iu, m, w, z, ldz) &
        result(status) bind(c, name="bandsolve_sstevr")
      import
      integer(c_signed_char), value :: jobz, range
      integer(c_int64_t), value :: n, il, iu, ldz
      real(c_float), value :: vl, vu
      real(c_float), intent(in) :: diag(*), off(*)
      integer(c_int64_t), intent(out) :: m
      real(c_float), intent(out) :: w(*), z(*)
      integer(c_int) :: status
    end function
    function c_sstcount(n, diag, off, shift, count) &
        result(status) bind(c, name="bandsolve_sstcount")
      import
      integer(c_int64_t), value :: n
      real(c_float), intent(in) :: diag(*), off(*)
      real(c_float), value :: shift
      integer(c_int64_t), intent(out) :: count
      integer(c_int) :: status
    end function
    function c_dsterf(n, diag, off, w) &
        result(status) bind(c, name="bandsolve_dsterf")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*), off(*)
      real(c_double), intent(out) :: w(*)
      integer(c_int) :: status
    end function
    function c_dstevr(jobz, range, n, diag, off, vl, vu, il, iu, m, w, z, ldz) &
        result(status) bind(c, name="bandsolve_dstevr")
      import
      integer(c_signed_char), value :: jobz, range
      integer(c_int64_t), value :: n, il, iu, ldz
      real(c_double), value :: vl, vu
      real(c_double), intent(in) :: diag(*), off(*)
      integer(c_int64_t), intent(out) :: m
      real(c_double), intent(out) :: w(*), z(*)
      integer(c_int) :: status
    end function
    function c_dstcount(n, diag, off, shift, count) &
        result(status) bind(c, name="bandsolve_dstcount")
      import
      integer(c_int64_t), value :: n
      real(c_double), intent(in) :: diag(*), off(*)
      real(c_double), value :: shift
      integer(c_int64_t), intent(out) :: count
      integer(c_int) :: status
    end function
  end interface

contains

  ! The message of the last call on this thread; empty if it succeeded.
  function bandsolve_last_error() result(message)
    character(:), allocatable :: message
    message = text_of(c_last_error())
  end function

  function bandsolve_version() result(version)
    character(:), allocatable :: version
    version = text_of(c_version())
  end function

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: length, k
    length = c_strlen(pointer)
    call c_f_pointer(pointer, letters, [length])
    allocate (character(length) :: text)
    do k = 1, length
      text(k:k) = letters(k)
    end do
  end function

  ! How the last solve on this thread went.
  function bandsolve_last_report() result(report)
    type(bandsolve_report) :: report
    integer(c_int) :: status
    report%size = c_sizeof(report)
    status = c_last_report(report)
    if (status /= 0) call stop_with("bandsolve_last_report: the library has a smaller report than this module")
  end function

  ! Number of threads for the solves of this thread; 0 uses all threads.
  subroutine bandsolve_set_threads(threads, status)
    integer, intent(in) :: threads
    integer, intent(out), optional :: status
    call conclude("bandsolve_set_threads", c_set_threads(int(threads, c_int64_t)), status)
  end subroutine

  ! End the threads of the library. The next solve starts them again.
  subroutine bandsolve_shutdown(status)
    integer, intent(out), optional :: status
    call conclude("bandsolve_shutdown", c_shutdown(), status)
  end subroutine

  ! Free the factors. The variable can be used again.
  subroutine factor_free(self)
    class(band_factor), intent(inout) :: self
    integer(c_int) :: status
    status = c_factor_destroy(self%handle)
    self%handle = c_null_ptr
    if (status /= 0) call stop_with("band_factor: " // bandsolve_last_error())
  end subroutine

  subroutine factor_final(self)
    type(band_factor), intent(inout) :: self
    call self%free()
  end subroutine

  ! Two variables with the same factors would free them twice.
  subroutine factor_copy(self, other)
    class(band_factor), intent(inout) :: self
    class(band_factor), intent(in) :: other
    if (.not. c_associated(self%handle, other%handle)) call stop_with("band_factor: factors cannot be copied")
  end subroutine

  ! The estimate of 1 / (||A|| ||A^-1||) in the 1-norm, or in the infinity norm if `norm` is 'I'.
  subroutine factor_rcond(factor, rcond, norm, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(out) :: rcond
    character, intent(in), optional :: norm
    integer, intent(out), optional :: status
    rcond = 0
    call conclude("factor_rcond", c_factor_rcond(letter_or(norm, '1'), factor%handle, rcond), status)
  end subroutine

  ! Create the handle of a variable that has none.
  subroutine create(factor)
    type(band_factor), intent(inout) :: factor
    if (c_associated(factor%handle)) return
    if (c_factor_create(factor%handle) /= 0) call stop_with("band_factor: " // bandsolve_last_error())
  end subroutine

  subroutine stop_with(message)
    character(*), intent(in) :: message
    write (error_unit, '(a)') message
    error stop 1
  end subroutine

  ! Return the status to the caller, or stop with the message of the library.
  subroutine conclude(routine, result, status)
    character(*), intent(in) :: routine
    integer(c_int), intent(in) :: result
    integer, intent(out), optional :: status
    if (present(status)) then
      status = int(result)
    else if (result /= 0) then
      call stop_with(routine // ": " // bandsolve_last_error())
    end if
  end subroutine

  ! Stop if an array does not have the size that the routine needs.
  subroutine check_size(routine, array, size_of_array, expected)
    character(*), intent(in) :: routine, array
    integer(c_int64_t), intent(in) :: size_of_array, expected
    character(200) :: message
    if (size_of_array == expected) return
    write (message, '(3a, i0, a, i0)') routine, ": ", array // " has the size ", size_of_array, ", expected ", expected
    call stop_with(trim(message))
  end subroutine

  ! A letter as C receives it, by its number.
  function letter_or(letter, default) result(value)
    character, intent(in), optional :: letter
    character, intent(in) :: default
    integer(c_signed_char) :: value
    value = int(iachar(default), c_signed_char)
    if (present(letter)) value = int(iachar(letter), c_signed_char)
  end function

  function wide(value) result(size_in_c)
    integer, intent(in) :: value
    integer(c_int64_t) :: size_in_c
    size_in_c = int(value, c_int64_t)
  end function

  ! a tridiagonal matrix: diag(n), sub(n - 1), sup(n - 1).
  subroutine gtsv_s1(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", c_sgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gtsv_s2(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", &
        c_sgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrf_s(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gttrf", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gttrf", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("gttrf", c_sgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine gttrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_sgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_sgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a periodic tridiagonal matrix: diag(n), sub(n), sup(n).
  subroutine cgtsv_s1(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", c_scgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgtsv_s2(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", &
        c_scgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrf_s(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgttrf", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgttrf", "sup", size(sup, kind=c_int64_t), n)
    call create(factor)
    call conclude("cgttrf", c_scgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine cgttrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_scgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_scgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a banded matrix in LAPACK's storage of gbtrf: ab(2 kl + ku + 1 or more, n).
  subroutine gbsv_s1(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :)
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_sgbsv(n, wide(kl), wide(ku), 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbsv_s2(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_sgbsv(n, wide(kl), wide(ku), size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrf_s(factor, kl, ku, ab, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("gbtrf", c_sgbtrf(n, wide(kl), wide(ku), ab, rows, factor%handle), status)
  end subroutine

  subroutine gbtrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_sgbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_sgbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite tridiagonal matrix: diag(n) real, off(n - 1) below the diagonal.
  subroutine ptsv_s1(diag, off, rhs, status)
    real(c_float), intent(in), contiguous :: diag(:)
    real(c_float), intent(in), contiguous :: off(:)
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", c_sptsv(n, 1_c_int64_t, diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine ptsv_s2(diag, off, rhs, status)
    real(c_float), intent(in), contiguous :: diag(:)
    real(c_float), intent(in), contiguous :: off(:)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", &
        c_sptsv(n, size(rhs, 2, kind=c_int64_t), diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrf_s(factor, diag, off, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: diag(:)
    real(c_float), intent(in), contiguous :: off(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("pttrf", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("pttrf", c_spttrf(n, diag, off, factor%handle), status)
  end subroutine

  subroutine pttrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_spttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_spttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite banded matrix: one triangle, ab(kd + 1, n); uplo = 'U' (default) or 'L'.
  subroutine pbsv_s1(ab, rhs, uplo, status)
    real(c_float), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_spbsv(letter_or(uplo, 'U'), n, rows - 1, 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbsv_s2(ab, rhs, uplo, status)
    real(c_float), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_spbsv(letter_or(uplo, 'U'), n, rows - 1, size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrf_s(factor, ab, uplo, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("pbtrf", c_spbtrf(letter_or(uplo, 'U'), n, rows - 1, ab, rows, factor%handle), status)
  end subroutine

  subroutine pbtrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_spbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_spbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a block tridiagonal matrix: diag(b, b, n), sub(b, b, n - 1), sup(b, b, n - 1).
  subroutine bgtsv_s1(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_sbgtsv(n, size(diag, 1, kind=c_int64_t), 1_c_int64_t, sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgtsv_s2(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_sbgtsv(n, size(diag, 1, kind=c_int64_t), size(rhs, 2, kind=c_int64_t), sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrf_s(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgttrf", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgttrf", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgttrf", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("bgttrf", c_sbgttrf(n, size(diag, 1, kind=c_int64_t), sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine bgttrs_s1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_sbgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrs_s2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_sbgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! The determinant phase * exp(log_abs) of a factored matrix.
  subroutine factor_det_s(factor, phase, log_abs, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(out) :: phase
    real(c_double), intent(out) :: log_abs
    integer, intent(out), optional :: status
    phase = 0
    log_abs = 0
    call conclude("factor_det", c_sfactor_det(factor%handle, phase, log_abs), status)
  end subroutine

  ! One tridiagonal system in each column of the arrays: rhs(n, count). If sub, diag and sup have one column, all
  ! systems have the same matrix.
  subroutine gtsv_batch_s(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("gtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("gtsv_batch", &
        c_sgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! One periodic tridiagonal system in each column of the arrays, as in gtsv_batch. sub(1, :) multiplies the last unknown,
  ! and sup(n, :) the first one.
  subroutine cgtsv_batch_s(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("cgtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("cgtsv_batch", &
        c_scgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! Factor the matrices of a batch. `count` is the number of systems of a shared matrix, which has one column.
  subroutine gttrf_batch_s(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("gttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("gttrf_batch", &
        c_sgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Factor the periodic matrices of a batch, for gttrs_batch.
  subroutine cgttrf_batch_s(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("cgttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("cgttrf_batch", &
        c_scgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Solve the systems of a batch: rhs(n, count).
  subroutine gttrs_batch_s(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs_batch", c_sgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One banded system in each column of rhs(n, count). ab(kl + ku + 1, n, count) is LAPACK's band storage without the rows
  ! for fill-in: ab(ku + 1 + i - j, j, s) is entry (i, j) of system s. If the last dimension of ab is 1, all systems have
  ! the same matrix. kl and ku are at most 15.
  subroutine gbsv_batch_s(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("gbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("gbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("gbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("gbsv_batch", &
        c_sgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the banded matrices of a batch, as in gbsv_batch. `count` is the number of systems of a shared matrix.
  subroutine gbtrf_batch_s(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("gbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("gbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("gbtrf_batch", &
        c_sgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems: ab(r, j, s) is in row 1 + modulo(j + r - ku - 2, n), and kl and ku are at most 7.
  subroutine cgbsv_batch_s(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cgbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("cgbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cgbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cgbsv_batch", &
        c_scgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the periodic banded matrices of a batch, as in cgbsv_batch, for gbtrs_batch.
  subroutine cgbtrf_batch_s(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("cgbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("cgbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cgbtrf_batch", &
        c_scgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve the systems of gbtrf_batch: rhs(n, count).
  subroutine gbtrs_batch_s(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs_batch", c_sgbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One positive definite banded system in each column of rhs(n, count). ab(kd + 1, n, count) has one triangle of each matrix, as in pbsv. If the
  ! last dimension of ab is 1, all systems have the same matrix. kd is at most 15.
  subroutine pbsv_batch_s(ab, rhs, uplo, status)
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("pbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("pbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("pbsv_batch", &
        c_spbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of pbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine pbtrf_batch_s(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("pbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("pbtrf_batch", &
        c_spbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems, with kd at most 7: indices of the matrices are taken modulo n.
  subroutine cpbsv_batch_s(ab, rhs, uplo, status)
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cpbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cpbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cpbsv_batch", &
        c_scpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of cpbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine cpbtrf_batch_s(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("cpbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cpbtrf_batch", &
        c_scpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve with the matrices of pbtrf_batch or cpbtrf_batch.
  subroutine pbtrs_batch_s(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs_batch", c_spbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One block tridiagonal system in each column of rhs(n * block, count). The blocks of block row i of system s are sub(:, :, i, s),
  ! diag(:, :, i, s) and sup(:, :, i, s); the first one of sub and the last one of sup are ignored. If the last dimension is 1, all
  ! systems have the same matrix. Blocks have at most 8 rows.
  subroutine bgtsv_batch_s(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("bgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("bgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("bgtsv_batch", &
        c_sbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! The same for periodic systems, with blocks of at most 5 rows.
  subroutine cbgtsv_batch_s(sub, diag, sup, rhs, status)
    real(c_float), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("cbgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("cbgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("cbgtsv_batch", &
        c_scbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! Prepare the matrices of bgtsv_batch for bgttrs_batch. count is the number of systems if they have one matrix.
  subroutine bgttrf_batch_s(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("bgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("bgttrf_batch", &
        c_sbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Prepare the matrices of cbgtsv_batch for bgttrs_batch.
  subroutine cbgttrf_batch_s(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("cbgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("cbgttrf_batch", &
        c_scbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Solve the systems of bgttrf_batch: rhs(n * block, count).
  subroutine bgttrs_batch_s(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_float), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs_batch", c_sbgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! a tridiagonal matrix: diag(n), sub(n - 1), sup(n - 1).
  subroutine gtsv_d1(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", c_dgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gtsv_d2(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", &
        c_dgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrf_d(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gttrf", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gttrf", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("gttrf", c_dgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine gttrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_dgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_dgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a periodic tridiagonal matrix: diag(n), sub(n), sup(n).
  subroutine cgtsv_d1(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", c_dcgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgtsv_d2(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", &
        c_dcgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrf_d(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgttrf", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgttrf", "sup", size(sup, kind=c_int64_t), n)
    call create(factor)
    call conclude("cgttrf", c_dcgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine cgttrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_dcgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_dcgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a banded matrix in LAPACK's storage of gbtrf: ab(2 kl + ku + 1 or more, n).
  subroutine gbsv_d1(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :)
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_dgbsv(n, wide(kl), wide(ku), 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbsv_d2(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_dgbsv(n, wide(kl), wide(ku), size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrf_d(factor, kl, ku, ab, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("gbtrf", c_dgbtrf(n, wide(kl), wide(ku), ab, rows, factor%handle), status)
  end subroutine

  subroutine gbtrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_dgbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_dgbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite tridiagonal matrix: diag(n) real, off(n - 1) below the diagonal.
  subroutine ptsv_d1(diag, off, rhs, status)
    real(c_double), intent(in), contiguous :: diag(:)
    real(c_double), intent(in), contiguous :: off(:)
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", c_dptsv(n, 1_c_int64_t, diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine ptsv_d2(diag, off, rhs, status)
    real(c_double), intent(in), contiguous :: diag(:)
    real(c_double), intent(in), contiguous :: off(:)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", &
        c_dptsv(n, size(rhs, 2, kind=c_int64_t), diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrf_d(factor, diag, off, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: diag(:)
    real(c_double), intent(in), contiguous :: off(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("pttrf", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("pttrf", c_dpttrf(n, diag, off, factor%handle), status)
  end subroutine

  subroutine pttrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_dpttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_dpttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite banded matrix: one triangle, ab(kd + 1, n); uplo = 'U' (default) or 'L'.
  subroutine pbsv_d1(ab, rhs, uplo, status)
    real(c_double), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_dpbsv(letter_or(uplo, 'U'), n, rows - 1, 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbsv_d2(ab, rhs, uplo, status)
    real(c_double), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_dpbsv(letter_or(uplo, 'U'), n, rows - 1, size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrf_d(factor, ab, uplo, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("pbtrf", c_dpbtrf(letter_or(uplo, 'U'), n, rows - 1, ab, rows, factor%handle), status)
  end subroutine

  subroutine pbtrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_dpbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_dpbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a block tridiagonal matrix: diag(b, b, n), sub(b, b, n - 1), sup(b, b, n - 1).
  subroutine bgtsv_d1(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_dbgtsv(n, size(diag, 1, kind=c_int64_t), 1_c_int64_t, sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgtsv_d2(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_dbgtsv(n, size(diag, 1, kind=c_int64_t), size(rhs, 2, kind=c_int64_t), sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrf_d(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgttrf", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgttrf", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgttrf", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("bgttrf", c_dbgttrf(n, size(diag, 1, kind=c_int64_t), sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine bgttrs_d1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_dbgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrs_d2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_dbgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! The determinant phase * exp(log_abs) of a factored matrix.
  subroutine factor_det_d(factor, phase, log_abs, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(out) :: phase
    real(c_double), intent(out) :: log_abs
    integer, intent(out), optional :: status
    phase = 0
    log_abs = 0
    call conclude("factor_det", c_dfactor_det(factor%handle, phase, log_abs), status)
  end subroutine

  ! One tridiagonal system in each column of the arrays: rhs(n, count). If sub, diag and sup have one column, all
  ! systems have the same matrix.
  subroutine gtsv_batch_d(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("gtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("gtsv_batch", &
        c_dgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! One periodic tridiagonal system in each column of the arrays, as in gtsv_batch. sub(1, :) multiplies the last unknown,
  ! and sup(n, :) the first one.
  subroutine cgtsv_batch_d(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("cgtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("cgtsv_batch", &
        c_dcgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! Factor the matrices of a batch. `count` is the number of systems of a shared matrix, which has one column.
  subroutine gttrf_batch_d(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("gttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("gttrf_batch", &
        c_dgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Factor the periodic matrices of a batch, for gttrs_batch.
  subroutine cgttrf_batch_d(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("cgttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("cgttrf_batch", &
        c_dcgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Solve the systems of a batch: rhs(n, count).
  subroutine gttrs_batch_d(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs_batch", c_dgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One banded system in each column of rhs(n, count). ab(kl + ku + 1, n, count) is LAPACK's band storage without the rows
  ! for fill-in: ab(ku + 1 + i - j, j, s) is entry (i, j) of system s. If the last dimension of ab is 1, all systems have
  ! the same matrix. kl and ku are at most 15.
  subroutine gbsv_batch_d(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("gbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("gbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("gbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("gbsv_batch", &
        c_dgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the banded matrices of a batch, as in gbsv_batch. `count` is the number of systems of a shared matrix.
  subroutine gbtrf_batch_d(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("gbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("gbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("gbtrf_batch", &
        c_dgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems: ab(r, j, s) is in row 1 + modulo(j + r - ku - 2, n), and kl and ku are at most 7.
  subroutine cgbsv_batch_d(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cgbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("cgbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cgbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cgbsv_batch", &
        c_dcgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the periodic banded matrices of a batch, as in cgbsv_batch, for gbtrs_batch.
  subroutine cgbtrf_batch_d(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("cgbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("cgbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cgbtrf_batch", &
        c_dcgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve the systems of gbtrf_batch: rhs(n, count).
  subroutine gbtrs_batch_d(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs_batch", c_dgbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One positive definite banded system in each column of rhs(n, count). ab(kd + 1, n, count) has one triangle of each matrix, as in pbsv. If the
  ! last dimension of ab is 1, all systems have the same matrix. kd is at most 15.
  subroutine pbsv_batch_d(ab, rhs, uplo, status)
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("pbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("pbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("pbsv_batch", &
        c_dpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of pbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine pbtrf_batch_d(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("pbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("pbtrf_batch", &
        c_dpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems, with kd at most 7: indices of the matrices are taken modulo n.
  subroutine cpbsv_batch_d(ab, rhs, uplo, status)
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cpbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cpbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cpbsv_batch", &
        c_dcpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of cpbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine cpbtrf_batch_d(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("cpbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cpbtrf_batch", &
        c_dcpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve with the matrices of pbtrf_batch or cpbtrf_batch.
  subroutine pbtrs_batch_d(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs_batch", c_dpbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One block tridiagonal system in each column of rhs(n * block, count). The blocks of block row i of system s are sub(:, :, i, s),
  ! diag(:, :, i, s) and sup(:, :, i, s); the first one of sub and the last one of sup are ignored. If the last dimension is 1, all
  ! systems have the same matrix. Blocks have at most 8 rows.
  subroutine bgtsv_batch_d(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("bgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("bgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("bgtsv_batch", &
        c_dbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! The same for periodic systems, with blocks of at most 5 rows.
  subroutine cbgtsv_batch_d(sub, diag, sup, rhs, status)
    real(c_double), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("cbgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("cbgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("cbgtsv_batch", &
        c_dcbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! Prepare the matrices of bgtsv_batch for bgttrs_batch. count is the number of systems if they have one matrix.
  subroutine bgttrf_batch_d(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("bgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("bgttrf_batch", &
        c_dbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Prepare the matrices of cbgtsv_batch for bgttrs_batch.
  subroutine cbgttrf_batch_d(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("cbgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("cbgttrf_batch", &
        c_dcbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Solve the systems of bgttrf_batch: rhs(n * block, count).
  subroutine bgttrs_batch_d(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    real(c_double), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs_batch", c_dbgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! a tridiagonal matrix: diag(n), sub(n - 1), sup(n - 1).
  subroutine gtsv_c1(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", c_cgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gtsv_c2(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", &
        c_cgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrf_c(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gttrf", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gttrf", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("gttrf", c_cgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine gttrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_cgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_cgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a periodic tridiagonal matrix: diag(n), sub(n), sup(n).
  subroutine cgtsv_c1(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", c_ccgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgtsv_c2(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", &
        c_ccgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrf_c(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgttrf", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgttrf", "sup", size(sup, kind=c_int64_t), n)
    call create(factor)
    call conclude("cgttrf", c_ccgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine cgttrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_ccgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_ccgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a banded matrix in LAPACK's storage of gbtrf: ab(2 kl + ku + 1 or more, n).
  subroutine gbsv_c1(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_cgbsv(n, wide(kl), wide(ku), 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbsv_c2(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_cgbsv(n, wide(kl), wide(ku), size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrf_c(factor, kl, ku, ab, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("gbtrf", c_cgbtrf(n, wide(kl), wide(ku), ab, rows, factor%handle), status)
  end subroutine

  subroutine gbtrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_cgbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_cgbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite tridiagonal matrix: diag(n) real, off(n - 1) below the diagonal.
  subroutine ptsv_c1(diag, off, rhs, status)
    real(c_float), intent(in), contiguous :: diag(:)
    complex(c_float_complex), intent(in), contiguous :: off(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", c_cptsv(n, 1_c_int64_t, diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine ptsv_c2(diag, off, rhs, status)
    real(c_float), intent(in), contiguous :: diag(:)
    complex(c_float_complex), intent(in), contiguous :: off(:)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", &
        c_cptsv(n, size(rhs, 2, kind=c_int64_t), diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrf_c(factor, diag, off, status)
    type(band_factor), intent(inout) :: factor
    real(c_float), intent(in), contiguous :: diag(:)
    complex(c_float_complex), intent(in), contiguous :: off(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("pttrf", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("pttrf", c_cpttrf(n, diag, off, factor%handle), status)
  end subroutine

  subroutine pttrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_cpttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_cpttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite banded matrix: one triangle, ab(kd + 1, n); uplo = 'U' (default) or 'L'.
  subroutine pbsv_c1(ab, rhs, uplo, status)
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_cpbsv(letter_or(uplo, 'U'), n, rows - 1, 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbsv_c2(ab, rhs, uplo, status)
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_cpbsv(letter_or(uplo, 'U'), n, rows - 1, size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrf_c(factor, ab, uplo, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("pbtrf", c_cpbtrf(letter_or(uplo, 'U'), n, rows - 1, ab, rows, factor%handle), status)
  end subroutine

  subroutine pbtrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_cpbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_cpbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a block tridiagonal matrix: diag(b, b, n), sub(b, b, n - 1), sup(b, b, n - 1).
  subroutine bgtsv_c1(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_cbgtsv(n, size(diag, 1, kind=c_int64_t), 1_c_int64_t, sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgtsv_c2(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_cbgtsv(n, size(diag, 1, kind=c_int64_t), size(rhs, 2, kind=c_int64_t), sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrf_c(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgttrf", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgttrf", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgttrf", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("bgttrf", c_cbgttrf(n, size(diag, 1, kind=c_int64_t), sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine bgttrs_c1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_cbgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrs_c2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_cbgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! The determinant phase * exp(log_abs) of a factored matrix.
  subroutine factor_det_c(factor, phase, log_abs, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(out) :: phase
    real(c_double), intent(out) :: log_abs
    integer, intent(out), optional :: status
    phase = 0
    log_abs = 0
    call conclude("factor_det", c_cfactor_det(factor%handle, phase, log_abs), status)
  end subroutine

  ! One tridiagonal system in each column of the arrays: rhs(n, count). If sub, diag and sup have one column, all
  ! systems have the same matrix.
  subroutine gtsv_batch_c(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("gtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("gtsv_batch", &
        c_cgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! One periodic tridiagonal system in each column of the arrays, as in gtsv_batch. sub(1, :) multiplies the last unknown,
  ! and sup(n, :) the first one.
  subroutine cgtsv_batch_c(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("cgtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("cgtsv_batch", &
        c_ccgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! Factor the matrices of a batch. `count` is the number of systems of a shared matrix, which has one column.
  subroutine gttrf_batch_c(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("gttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("gttrf_batch", &
        c_cgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Factor the periodic matrices of a batch, for gttrs_batch.
  subroutine cgttrf_batch_c(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("cgttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("cgttrf_batch", &
        c_ccgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Solve the systems of a batch: rhs(n, count).
  subroutine gttrs_batch_c(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs_batch", c_cgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One banded system in each column of rhs(n, count). ab(kl + ku + 1, n, count) is LAPACK's band storage without the rows
  ! for fill-in: ab(ku + 1 + i - j, j, s) is entry (i, j) of system s. If the last dimension of ab is 1, all systems have
  ! the same matrix. kl and ku are at most 15.
  subroutine gbsv_batch_c(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("gbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("gbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("gbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("gbsv_batch", &
        c_cgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the banded matrices of a batch, as in gbsv_batch. `count` is the number of systems of a shared matrix.
  subroutine gbtrf_batch_c(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("gbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("gbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("gbtrf_batch", &
        c_cgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems: ab(r, j, s) is in row 1 + modulo(j + r - ku - 2, n), and kl and ku are at most 7.
  subroutine cgbsv_batch_c(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cgbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("cgbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cgbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cgbsv_batch", &
        c_ccgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the periodic banded matrices of a batch, as in cgbsv_batch, for gbtrs_batch.
  subroutine cgbtrf_batch_c(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("cgbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("cgbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cgbtrf_batch", &
        c_ccgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve the systems of gbtrf_batch: rhs(n, count).
  subroutine gbtrs_batch_c(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs_batch", c_cgbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One positive definite banded system in each column of rhs(n, count). ab(kd + 1, n, count) has one triangle of each matrix, as in pbsv. If the
  ! last dimension of ab is 1, all systems have the same matrix. kd is at most 15.
  subroutine pbsv_batch_c(ab, rhs, uplo, status)
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("pbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("pbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("pbsv_batch", &
        c_cpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of pbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine pbtrf_batch_c(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("pbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("pbtrf_batch", &
        c_cpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems, with kd at most 7: indices of the matrices are taken modulo n.
  subroutine cpbsv_batch_c(ab, rhs, uplo, status)
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cpbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cpbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cpbsv_batch", &
        c_ccpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of cpbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine cpbtrf_batch_c(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("cpbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cpbtrf_batch", &
        c_ccpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve with the matrices of pbtrf_batch or cpbtrf_batch.
  subroutine pbtrs_batch_c(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs_batch", c_cpbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One block tridiagonal system in each column of rhs(n * block, count). The blocks of block row i of system s are sub(:, :, i, s),
  ! diag(:, :, i, s) and sup(:, :, i, s); the first one of sub and the last one of sup are ignored. If the last dimension is 1, all
  ! systems have the same matrix. Blocks have at most 8 rows.
  subroutine bgtsv_batch_c(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("bgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("bgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("bgtsv_batch", &
        c_cbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! The same for periodic systems, with blocks of at most 5 rows.
  subroutine cbgtsv_batch_c(sub, diag, sup, rhs, status)
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("cbgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("cbgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("cbgtsv_batch", &
        c_ccbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! Prepare the matrices of bgtsv_batch for bgttrs_batch. count is the number of systems if they have one matrix.
  subroutine bgttrf_batch_c(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("bgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("bgttrf_batch", &
        c_cbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Prepare the matrices of cbgtsv_batch for bgttrs_batch.
  subroutine cbgttrf_batch_c(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_float_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("cbgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("cbgttrf_batch", &
        c_ccbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Solve the systems of bgttrf_batch: rhs(n * block, count).
  subroutine bgttrs_batch_c(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_float_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs_batch", c_cbgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! a tridiagonal matrix: diag(n), sub(n - 1), sup(n - 1).
  subroutine gtsv_z1(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", c_zgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gtsv_z2(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gtsv", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gtsv", &
        c_zgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrf_z(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("gttrf", "sub", size(sub, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("gttrf", "sup", size(sup, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("gttrf", c_zgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine gttrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_zgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gttrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs", &
        c_zgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a periodic tridiagonal matrix: diag(n), sub(n), sup(n).
  subroutine cgtsv_z1(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", c_zcgtsv(n, 1_c_int64_t, sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgtsv_z2(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgtsv", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgtsv", "sup", size(sup, kind=c_int64_t), n)
    call check_size("cgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("cgtsv", &
        c_zcgtsv(n, size(rhs, 2, kind=c_int64_t), sub, diag, sup, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrf_z(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:), diag(:), sup(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("cgttrf", "sub", size(sub, kind=c_int64_t), n)
    call check_size("cgttrf", "sup", size(sup, kind=c_int64_t), n)
    call create(factor)
    call conclude("cgttrf", c_zcgttrf(n, sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine cgttrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_zcgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine cgttrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("cgttrs", &
        c_zcgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a banded matrix in LAPACK's storage of gbtrf: ab(2 kl + ku + 1 or more, n).
  subroutine gbsv_z1(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_zgbsv(n, wide(kl), wide(ku), 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbsv_z2(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("gbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("gbsv", &
        c_zgbsv(n, wide(kl), wide(ku), size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrf_z(factor, kl, ku, ab, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("gbtrf", c_zgbtrf(n, wide(kl), wide(ku), ab, rows, factor%handle), status)
  end subroutine

  subroutine gbtrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_zgbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine gbtrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs", &
        c_zgbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite tridiagonal matrix: diag(n) real, off(n - 1) below the diagonal.
  subroutine ptsv_z1(diag, off, rhs, status)
    real(c_double), intent(in), contiguous :: diag(:)
    complex(c_double_complex), intent(in), contiguous :: off(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", c_zptsv(n, 1_c_int64_t, diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine ptsv_z2(diag, off, rhs, status)
    real(c_double), intent(in), contiguous :: diag(:)
    complex(c_double_complex), intent(in), contiguous :: off(:)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("ptsv", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call check_size("ptsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("ptsv", &
        c_zptsv(n, size(rhs, 2, kind=c_int64_t), diag, off, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrf_z(factor, diag, off, status)
    type(band_factor), intent(inout) :: factor
    real(c_double), intent(in), contiguous :: diag(:)
    complex(c_double_complex), intent(in), contiguous :: off(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, kind=c_int64_t)
    call check_size("pttrf", "off", size(off, kind=c_int64_t), max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("pttrf", c_zpttrf(n, diag, off, factor%handle), status)
  end subroutine

  subroutine pttrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_zpttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pttrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pttrs", &
        c_zpttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a Hermitian positive definite banded matrix: one triangle, ab(kd + 1, n); uplo = 'U' (default) or 'L'.
  subroutine pbsv_z1(ab, rhs, uplo, status)
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_zpbsv(letter_or(uplo, 'U'), n, rows - 1, 1_c_int64_t, ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbsv_z2(ab, rhs, uplo, status)
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call check_size("pbsv", "rhs", size(rhs, 1, kind=c_int64_t), n)
    call conclude("pbsv", &
        c_zpbsv(letter_or(uplo, 'U'), n, rows - 1, size(rhs, 2, kind=c_int64_t), ab, rows, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrf_z(factor, ab, uplo, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: ab(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    call create(factor)
    call conclude("pbtrf", c_zpbtrf(letter_or(uplo, 'U'), n, rows - 1, ab, rows, factor%handle), status)
  end subroutine

  subroutine pbtrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_zpbtrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine pbtrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs", &
        c_zpbtrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! a block tridiagonal matrix: diag(b, b, n), sub(b, b, n - 1), sup(b, b, n - 1).
  subroutine bgtsv_z1(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_zbgtsv(n, size(diag, 1, kind=c_int64_t), 1_c_int64_t, sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgtsv_z2(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgtsv", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgtsv", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgtsv", "rhs", size(rhs, 1, kind=c_int64_t), n * size(diag, 1, kind=c_int64_t))
    call conclude("bgtsv", &
        c_zbgtsv(n, size(diag, 1, kind=c_int64_t), size(rhs, 2, kind=c_int64_t), sub, diag, sup, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrf_z(factor, sub, diag, sup, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :), diag(:, :, :), sup(:, :, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(diag, 3, kind=c_int64_t)
    call check_size("bgttrf", "diag", size(diag, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * n)
    call check_size("bgttrf", "sub", size(sub, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call check_size("bgttrf", "sup", size(sup, kind=c_int64_t), size(diag, 1, kind=c_int64_t)**2 * max(n - 1, 0_c_int64_t))
    call create(factor)
    call conclude("bgttrf", c_zbgttrf(n, size(diag, 1, kind=c_int64_t), sub, diag, sup, factor%handle), status)
  end subroutine

  subroutine bgttrs_z1(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_zbgttrs(letter_or(trans, 'N'), 1_c_int64_t, factor%handle, rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  subroutine bgttrs_z2(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs", &
        c_zbgttrs(letter_or(trans, 'N'), size(rhs, 2, kind=c_int64_t), factor%handle, &
        rhs, size(rhs, 1, kind=c_int64_t)), status)
  end subroutine

  ! The determinant phase * exp(log_abs) of a factored matrix.
  subroutine factor_det_z(factor, phase, log_abs, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(out) :: phase
    real(c_double), intent(out) :: log_abs
    integer, intent(out), optional :: status
    phase = 0
    log_abs = 0
    call conclude("factor_det", c_zfactor_det(factor%handle, phase, log_abs), status)
  end subroutine

  ! One tridiagonal system in each column of the arrays: rhs(n, count). If sub, diag and sup have one column, all
  ! systems have the same matrix.
  subroutine gtsv_batch_z(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("gtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("gtsv_batch", &
        c_zgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! One periodic tridiagonal system in each column of the arrays, as in gtsv_batch. sub(1, :) multiplies the last unknown,
  ! and sup(n, :) the first one.
  subroutine cgtsv_batch_z(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    shared = check_batch("cgtsv_batch", size(rhs, 1), size(rhs, 2), [size(sub), size(diag), size(sup)])
    call conclude("cgtsv_batch", &
        c_zcgtsv_batch(wide(size(rhs, 1)), wide(size(rhs, 2)), 1_c_int64_t, wide(size(rhs, 1)), &
        shared, sub, diag, sup, rhs), status)
  end subroutine

  ! Factor the matrices of a batch. `count` is the number of systems of a shared matrix, which has one column.
  subroutine gttrf_batch_z(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("gttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("gttrf_batch", &
        c_zgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Factor the periodic matrices of a batch, for gttrs_batch.
  subroutine cgttrf_batch_z(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:, :), diag(:, :), sup(:, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    logical(c_bool) :: shared
    integer :: systems
    systems = size(diag, 2)
    if (present(count)) systems = count
    shared = check_batch("cgttrf_batch", size(diag, 1), systems, [size(sub), size(diag), size(sup)])
    call create(factor)
    call conclude("cgttrf_batch", &
        c_zcgttrf_batch(wide(size(diag, 1)), wide(systems), 1_c_int64_t, wide(size(diag, 1)), &
        shared, sub, diag, sup, factor%handle), status)
  end subroutine

  ! Solve the systems of a batch: rhs(n, count).
  subroutine gttrs_batch_z(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gttrs_batch", c_zgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One banded system in each column of rhs(n, count). ab(kl + ku + 1, n, count) is LAPACK's band storage without the rows
  ! for fill-in: ab(ku + 1 + i - j, j, s) is entry (i, j) of system s. If the last dimension of ab is 1, all systems have
  ! the same matrix. kl and ku are at most 15.
  subroutine gbsv_batch_z(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("gbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("gbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("gbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("gbsv_batch", &
        c_zgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the banded matrices of a batch, as in gbsv_batch. `count` is the number of systems of a shared matrix.
  subroutine gbtrf_batch_z(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("gbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("gbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("gbtrf_batch", &
        c_zgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems: ab(r, j, s) is in row 1 + modulo(j + r - ku - 2, n), and kl and ku are at most 7.
  subroutine cgbsv_batch_z(kl, ku, ab, rhs, status)
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cgbsv_batch", "a column of ab", rows, wide(kl) + ku + 1)
    call check_size("cgbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cgbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cgbsv_batch", &
        c_zcgbsv_batch(n, wide(kl), wide(ku), count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the periodic banded matrices of a batch, as in cgbsv_batch, for gbtrs_batch.
  subroutine cgbtrf_batch_z(factor, kl, ku, ab, count, status)
    type(band_factor), intent(inout) :: factor
    integer, intent(in) :: kl, ku
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    call check_size("cgbtrf_batch", "a column of ab", rows, wide(kl) + ku + 1)
    if (size(ab, 3) /= 1) call check_size("cgbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cgbtrf_batch", &
        c_zcgbtrf_batch(n, wide(kl), wide(ku), systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve the systems of gbtrf_batch: rhs(n, count).
  subroutine gbtrs_batch_z(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("gbtrs_batch", c_zgbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One positive definite banded system in each column of rhs(n, count). ab(kd + 1, n, count) has one triangle of each matrix, as in pbsv. If the
  ! last dimension of ab is 1, all systems have the same matrix. kd is at most 15.
  subroutine pbsv_batch_z(ab, rhs, uplo, status)
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("pbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("pbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("pbsv_batch", &
        c_zpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of pbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine pbtrf_batch_z(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("pbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("pbtrf_batch", &
        c_zpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! The same for periodic systems, with kd at most 7: indices of the matrices are taken modulo n.
  subroutine cpbsv_batch_z(ab, rhs, uplo, status)
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: uplo
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, count
    n = size(rhs, 1, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_size("cpbsv_batch", "the second dimension of ab", size(ab, 2, kind=c_int64_t), n)
    if (size(ab, 3) /= 1) call check_size("cpbsv_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), count)
    call conclude("cpbsv_batch", &
        c_zcpbsv_batch(letter_or(uplo, 'U'), n, rows - 1, count, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), rhs, 1_c_int64_t, n), status)
  end subroutine

  ! Prepare the matrices of cpbsv_batch, for pbtrs_batch. `count` is the number of systems of a shared matrix.
  subroutine cpbtrf_batch_z(factor, ab, uplo, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: ab(:, :, :)
    character, intent(in), optional :: uplo
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n, rows, systems
    n = size(ab, 2, kind=c_int64_t)
    rows = size(ab, 1, kind=c_int64_t)
    systems = size(ab, 3, kind=c_int64_t)
    if (present(count)) systems = count
    if (size(ab, 3) /= 1) call check_size("cpbtrf_batch", "the third dimension of ab", size(ab, 3, kind=c_int64_t), systems)
    call create(factor)
    call conclude("cpbtrf_batch", &
        c_zcpbtrf_batch(letter_or(uplo, 'U'), n, rows - 1, systems, ab, 1_c_int64_t, rows, &
        merge(0_c_int64_t, rows * n, size(ab, 3) == 1), 1_c_int64_t, n, factor%handle), status)
  end subroutine

  ! Solve with the matrices of pbtrf_batch or cpbtrf_batch.
  subroutine pbtrs_batch_z(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("pbtrs_batch", c_zpbtrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! One block tridiagonal system in each column of rhs(n * block, count). The blocks of block row i of system s are sub(:, :, i, s),
  ! diag(:, :, i, s) and sup(:, :, i, s); the first one of sub and the last one of sup are ignored. If the last dimension is 1, all
  ! systems have the same matrix. Blocks have at most 8 rows.
  subroutine bgtsv_batch_z(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("bgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("bgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("bgtsv_batch", &
        c_zbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! The same for periodic systems, with blocks of at most 5 rows.
  subroutine cbgtsv_batch_z(sub, diag, sup, rhs, status)
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, count
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    count = size(rhs, 2, kind=c_int64_t)
    call check_blocks("cbgtsv_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), count)
    call check_size("cbgtsv_batch", "a column of rhs", size(rhs, 1, kind=c_int64_t), n * block)
    call conclude("cbgtsv_batch", &
        c_zcbgtsv_batch(n, block, count, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), rhs, 1_c_int64_t, n * block), status)
  end subroutine

  ! Prepare the matrices of bgtsv_batch for bgttrs_batch. count is the number of systems if they have one matrix.
  subroutine bgttrf_batch_z(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("bgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("bgttrf_batch", &
        c_zbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Prepare the matrices of cbgtsv_batch for bgttrs_batch.
  subroutine cbgttrf_batch_z(factor, sub, diag, sup, count, status)
    type(band_factor), intent(inout) :: factor
    complex(c_double_complex), intent(in), contiguous :: sub(:, :, :, :), diag(:, :, :, :), sup(:, :, :, :)
    integer, intent(in), optional :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: block, n, systems
    block = size(diag, 1, kind=c_int64_t)
    n = size(diag, 3, kind=c_int64_t)
    systems = size(diag, 4, kind=c_int64_t)
    if (present(count)) systems = count
    call check_blocks("cbgttrf_batch", shape(sub, c_int64_t), shape(diag, c_int64_t), shape(sup, c_int64_t), systems)
    call create(factor)
    call conclude("cbgttrf_batch", &
        c_zcbgttrf_batch(n, block, systems, sub, diag, sup, block * block, 1_c_int64_t, block, &
        merge(0_c_int64_t, n * block * block, size(diag, 4) == 1), 1_c_int64_t, n * block, factor%handle), status)
  end subroutine

  ! Solve the systems of bgttrf_batch: rhs(n * block, count).
  subroutine bgttrs_batch_z(factor, rhs, trans, status)
    type(band_factor), intent(in) :: factor
    complex(c_double_complex), intent(inout), contiguous :: rhs(:, :)
    character, intent(in), optional :: trans
    integer, intent(out), optional :: status
    call conclude("bgttrs_batch", c_zbgttrs_batch(letter_or(trans, 'N'), factor%handle, rhs), status)
  end subroutine

  ! Stops if the shapes of the blocks of a batch do not fit.
  subroutine check_blocks(name, sub, diag, sup, count)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: sub(4), diag(4), sup(4), count
    integer :: k
    call check_size(name, "the second dimension of diag", diag(2), diag(1))
    do k = 1, 4
      call check_size(name, "a dimension of sub", sub(k), diag(k))
      call check_size(name, "a dimension of sup", sup(k), diag(k))
    end do
    if (diag(4) /= 1) call check_size(name, "the last dimension of diag", diag(4), count)
  end subroutine

  ! Whether all systems have the same matrix. Stops if the sizes do not fit.
  function check_batch(routine, n, count, sizes) result(shared)
    character(*), intent(in) :: routine
    integer, intent(in) :: n, count, sizes(3)
    logical(c_bool) :: shared
    integer :: expected
    shared = sizes(2) == n .and. count /= 1
    expected = merge(n, n * count, logical(shared))
    call check_size(routine, "sub", wide(sizes(1)), wide(expected))
    call check_size(routine, "diag", wide(sizes(2)), wide(expected))
    call check_size(routine, "sup", wide(sizes(3)), wide(expected))
  end function

  ! All eigenvalues of a symmetric tridiagonal matrix, in ascending order: diag(n), off(n - 1), w(n).
  subroutine sterf_s(diag, off, w, status)
    real(c_float), intent(in), contiguous :: diag(:), off(:)
    real(c_float), intent(out), contiguous :: w(:)
    integer, intent(out), optional :: status
    call check_size("sterf", "off", wide(size(off)), wide(max(size(diag) - 1, 0)))
    call check_size("sterf", "w", wide(size(w)), wide(size(diag)))
    call conclude("sterf", c_ssterf(wide(size(diag)), diag, off, w), status)
  end subroutine

  ! The eigenvalues in (vl, vu], or number il to iu, or all: w(1:m), with the eigenvectors z(:, 1:m) if z is present. z has
  ! n columns, or iu - il + 1 columns.
  subroutine stevr_s(diag, off, m, w, z, vl, vu, il, iu, status)
    real(c_float), intent(in), contiguous :: diag(:), off(:)
    integer, intent(out) :: m
    real(c_float), intent(out), contiguous :: w(:)
    real(c_float), intent(out), contiguous, optional :: z(:, :)
    real(c_float), intent(in), optional :: vl, vu
    integer, intent(in), optional :: il, iu
    integer, intent(out), optional :: status
    real(c_float) :: nothing(1), low, high
    integer(c_int64_t) :: first, last, n, found
    character :: range
    integer(c_int) :: result
    n = wide(size(diag))
    call check_size("stevr", "off", wide(size(off)), max(n - 1, 0_c_int64_t))
    call check_size("stevr", "w", wide(size(w)), n)
    range = 'A'
    low = -huge(low)
    high = huge(high)
    first = 1
    last = n
    if (present(vl)) low = vl
    if (present(vu)) high = vu
    if (present(il)) first = wide(il)
    if (present(iu)) last = wide(iu)
    if (present(il) .or. present(iu)) range = 'I'
    if (present(vl) .or. present(vu)) range = 'V'
    found = 0
    if (present(z)) then
      call check_size("stevr", "the number of rows of z", wide(size(z, 1)), n)
      if (range /= 'I') call check_size("stevr", "the number of columns of z", wide(size(z, 2)), n)
      if (range == 'I') call check_size("stevr", "the number of columns of z", wide(size(z, 2)), last - first + 1)
      result = c_sstevr(letter_or(default='V'), letter_or(default=range), n, diag, off, low, high, first, last, found, &
          w, z, n)
    else
      result = c_sstevr(letter_or(default='N'), letter_or(default=range), n, diag, off, low, high, first, last, found, &
          w, nothing, n)
    end if
    m = int(found)
    call conclude("stevr", result, status)
  end subroutine

  ! The number of eigenvalues that are at most `shift`.
  subroutine stcount_s(diag, off, shift, count, status)
    real(c_float), intent(in), contiguous :: diag(:), off(:)
    real(c_float), intent(in) :: shift
    integer, intent(out) :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: below
    call check_size("stcount", "off", wide(size(off)), wide(max(size(diag) - 1, 0)))
    below = 0
    call conclude("stcount", c_sstcount(wide(size(diag)), diag, off, shift, below), status)
    count = int(below)
  end subroutine

  ! All eigenvalues of a symmetric tridiagonal matrix, in ascending order: diag(n), off(n - 1), w(n).
  subroutine sterf_d(diag, off, w, status)
    real(c_double), intent(in), contiguous :: diag(:), off(:)
    real(c_double), intent(out), contiguous :: w(:)
    integer, intent(out), optional :: status
    call check_size("sterf", "off", wide(size(off)), wide(max(size(diag) - 1, 0)))
    call check_size("sterf", "w", wide(size(w)), wide(size(diag)))
    call conclude("sterf", c_dsterf(wide(size(diag)), diag, off, w), status)
  end subroutine

  ! The eigenvalues in (vl, vu], or number il to iu, or all: w(1:m), with the eigenvectors z(:, 1:m) if z is present. z has
  ! n columns, or iu - il + 1 columns.
  subroutine stevr_d(diag, off, m, w, z, vl, vu, il, iu, status)
    real(c_double), intent(in), contiguous :: diag(:), off(:)
    integer, intent(out) :: m
    real(c_double), intent(out), contiguous :: w(:)
    real(c_double), intent(out), contiguous, optional :: z(:, :)
    real(c_double), intent(in), optional :: vl, vu
    integer, intent(in), optional :: il, iu
    integer, intent(out), optional :: status
    real(c_double) :: nothing(1), low, high
    integer(c_int64_t) :: first, last, n, found
    character :: range
    integer(c_int) :: result
    n = wide(size(diag))
    call check_size("stevr", "off", wide(size(off)), max(n - 1, 0_c_int64_t))
    call check_size("stevr", "w", wide(size(w)), n)
    range = 'A'
    low = -huge(low)
    high = huge(high)
    first = 1
    last = n
    if (present(vl)) low = vl
    if (present(vu)) high = vu
    if (present(il)) first = wide(il)
    if (present(iu)) last = wide(iu)
    if (present(il) .or. present(iu)) range = 'I'
    if (present(vl) .or. present(vu)) range = 'V'
    found = 0
    if (present(z)) then
      call check_size("stevr", "the number of rows of z", wide(size(z, 1)), n)
      if (range /= 'I') call check_size("stevr", "the number of columns of z", wide(size(z, 2)), n)
      if (range == 'I') call check_size("stevr", "the number of columns of z", wide(size(z, 2)), last - first + 1)
      result = c_dstevr(letter_or(default='V'), letter_or(default=range), n, diag, off, low, high, first, last, found, &
          w, z, n)
    else
      result = c_dstevr(letter_or(default='N'), letter_or(default=range), n, diag, off, low, high, first, last, found, &
          w, nothing, n)
    end if
    m = int(found)
    call conclude("stevr", result, status)
  end subroutine

  ! The number of eigenvalues that are at most `shift`.
  subroutine stcount_d(diag, off, shift, count, status)
    real(c_double), intent(in), contiguous :: diag(:), off(:)
    real(c_double), intent(in) :: shift
    integer, intent(out) :: count
    integer, intent(out), optional :: status
    integer(c_int64_t) :: below
    call check_size("stcount", "off", wide(size(off)), wide(max(size(diag) - 1, 0)))
    below = 0
    call conclude("stcount", c_dstcount(wide(size(diag)), diag, off, shift, below), status)
    count = int(below)
  end subroutine
end module

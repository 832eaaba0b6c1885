//! Programs that the explorer of `pe-lab serve` offers to copy, each for some settings. They are compared byte by
//! byte, so they are not formatted.

#[rustfmt::skip]
pub mod alibi;
#[rustfmt::skip]
pub mod kerple;
#[rustfmt::skip]
pub mod longrope;
#[rustfmt::skip]
pub mod plain;
#[rustfmt::skip]
pub mod rotary;
#[rustfmt::skip]
pub mod sinusoidal;
#[rustfmt::skip]
pub mod t5;
#[rustfmt::skip]
pub mod xpos;

//! The local review: forge, analysers, judge, output.

mod rules;

//! The scenario has tests only: see tests/.

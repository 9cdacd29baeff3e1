//! Enums whose variants have names.

/// Declares an enum with a method that returns the name of the variant.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Enum:ident {
        $(
            $(#[$meta:meta])*
            $Variant:ident $(($($tuple:tt)*))? $({ $($fields:tt)* })?
        ),+ $(,)?
    }) => {
        $(#[$about])*
        pub enum $Enum {
            $($(#[$meta])* $Variant $(($($tuple)*))? $({ $($fields)* })?,)+
        }

        impl $Enum {
            /// The name of the variant, for messages and logs.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$Variant { .. } => stringify!($Variant),)+
                }
            }
        }
    };
}

pub(crate) use named;

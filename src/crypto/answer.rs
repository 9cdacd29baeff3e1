//! The answers of backends.

/// The answer of a backend, such as a signer, an approver, a key or a look-up.
///
/// A backend that needs time answers [`Pending`](Self::Pending). The step then
/// lists the missing answer in
/// [`Wait::awaiting`](crate::machine::Wait::awaiting), and every later call asks
/// the same question until the backend answers.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Answer;
///
/// let answer: Answer<u8> = Answer::Ready(7);
/// assert_eq!(answer.map(u16::from), Answer::Ready(7));
/// assert_eq!(Answer::<u8>::Pending.map(u16::from), Answer::Pending);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The answer itself.
    Ready(T),
    /// The backend answers later: call again when the answer is available.
    Pending,
    /// The backend refuses, for this reason.
    Denied(String),
}

/// Why an answer that is needed immediately is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAtOnce {
    /// The backend answers later.
    #[error("the backend answers later, but the answer is needed immediately")]
    Pending,
    /// The backend refuses, for this reason.
    #[error("the backend refuses: {0:?}")]
    Denied(String),
}

impl<T> Answer<T> {
    /// The same answer with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Ready(value) => Answer::Ready(change(value)),
            Self::Pending => Answer::Pending,
            Self::Denied(reason) => Answer::Denied(reason),
        }
    }

    /// The value, for a caller that cannot wait for a later answer.
    ///
    /// # Errors
    /// [`NotAtOnce`].
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::crypto::{Answer, NotAtOnce};
    ///
    /// assert_eq!(Answer::Ready(7).at_once(), Ok(7));
    /// assert_eq!(Answer::<u8>::Pending.at_once(), Err(NotAtOnce::Pending));
    /// ```
    pub fn at_once(self) -> Result<T, NotAtOnce> {
        match self {
            Self::Ready(value) => Ok(value),
            Self::Pending => Err(NotAtOnce::Pending),
            Self::Denied(reason) => Err(NotAtOnce::Denied(reason)),
        }
    }
}

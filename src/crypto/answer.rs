//! What a backend answers, now or later.

/// A backend's answer: the signer's, the approver's, a key's, a look-up's.
///
/// A backend that needs time answers [`Pending`](Self::Pending). The step then
/// says in [`Wait::awaiting`](crate::machine::Wait::awaiting) what is missing, and the
/// same question comes at each look until the backend answers.
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
    /// The answer comes later: look again when it is there.
    Pending,
    /// The backend refuses, for this reason.
    Denied(String),
}

/// Why an answer that is needed at once is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAtOnce {
    /// The answer comes later.
    #[error("the answer comes later, and is needed at once")]
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

    /// The value, where nothing can wait for a later answer.
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

//! An IAM for tests. Each request gets one access key.

use std::{collections::BTreeMap, sync::Mutex};

use liqo_auth::{
    crypto::{Answer, BoxError},
    machine::{Awaited, Step},
    model::AwsConfig,
    provider::{AwsIdentities, AwsIdentityRequest, RequestId},
};

/// What the secret part of every key begins with.
pub(crate) const SECRET: &str = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";

/// An IAM that gives one key for each request, and remembers the requests.
#[derive(Default)]
pub(crate) struct Iam {
    pub(crate) given: Mutex<BTreeMap<RequestId, AwsIdentityRequest>>,
    /// The fixed answer that replaces a key.
    says: Mutex<Option<Result<Answer<AwsConfig>, String>>>,
}

impl Iam {
    pub(crate) fn says(&self, answer: Result<Answer<AwsConfig>, &str>) {
        *self.says.lock().unwrap() = Some(answer.map_err(str::to_owned));
    }

    pub(crate) fn works(&self) {
        *self.says.lock().unwrap() = None;
    }

    /// The number of keys that were made.
    pub(crate) fn made(&self) -> usize {
        self.given.lock().unwrap().len()
    }
}

impl AwsIdentities for Iam {
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
        if let Some(answer) = &*self.says.lock().unwrap() {
            return answer.clone().map_err(Into::into);
        }
        let mut given = self.given.lock().unwrap();
        given.insert(request.id, request.clone());
        let digits = request.id.to_string().to_uppercase();
        let digits: String = digits.chars().take(16).collect();
        Ok(Answer::Ready(config(&format!("AKIA{digits}"))))
    }
}

pub(crate) fn config(access_key_id: &str) -> AwsConfig {
    AwsConfig {
        aws_user_arn: "arn:aws:iam::123456789012:user/liqo-Ab12".to_owned(),
        aws_access_key_id: access_key_id.to_owned(),
        aws_secret_access_key: format!("{SECRET}{access_key_id}").into(),
        aws_region: "eu-west-1".to_owned(),
        aws_cluster_name: "provider".to_owned(),
    }
}

/// The keys that the step reports for deletion.
pub(crate) fn awaited_revocations(step: &Step) -> Vec<&str> {
    step.wait
        .awaiting
        .iter()
        .filter_map(|awaited| match awaited {
            Awaited::AwsRevocation {
                user_arn,
                access_key_id,
            } => {
                assert_eq!(user_arn, "arn:aws:iam::123456789012:user/liqo-Ab12");
                Some(access_key_id.as_str())
            }
            _ => None,
        })
        .collect()
}

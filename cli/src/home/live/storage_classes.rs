//! The storage classes of a cluster, which the slices of its consumers are offered.

use std::time::Duration;

use futures::{Stream, stream};
use liqo_auth::model::StorageClass;
use tokio::time::sleep;

use super::{Live, failure};
use crate::{
    failure::Result,
    home::{Ground, Home},
};

impl Home {
    /// Reads the storage classes of a cluster, which the slices of its consumers are offered.
    pub(crate) fn learn_storage_classes(&mut self) -> Result<()> {
        if let Ground::Cluster(live) = &mut self.ground {
            let classes = live.runtime.block_on(live.cluster.storage_classes());
            live.storage_classes = classes.map_err(failure)?;
            self.settings
                .storage_classes
                .clone_from(&live.storage_classes);
            self.written_settings
                .storage_classes
                .clone_from(&live.storage_classes);
        }
        Ok(())
    }
}

impl Live {
    /// The storage classes from time to time. What cannot be read is tried again the next time.
    pub(super) fn storage_classes_over_time(&self) -> impl Stream<Item = Vec<StorageClass>> {
        stream::unfold((), move |()| async move {
            loop {
                sleep(INTERVAL).await;
                if let Ok(classes) = self.cluster.storage_classes().await {
                    return Some((classes, ()));
                }
            }
        })
    }
}

const INTERVAL: Duration = Duration::from_secs(5 * 60);

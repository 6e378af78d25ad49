//! [`Profile`]: what the configuration files of AWS's tools say.

use std::collections::HashMap;
use std::path::PathBuf;
use std::{env, fs, io};

use ndarray_io::{Error, Result};

use crate::address::bad_option;

/// A profile of `~/.aws/credentials` and `~/.aws/config`.
#[derive(Default)]
pub(crate) struct Profile {
    name: String,
    is_explicit: bool,
    values: HashMap<String, String>,
}

impl Profile {
    /// Reads the profile that `AWS_PROFILE` names, or the default one, if there is one.
    pub(crate) fn read() -> Result<Self> {
        // An empty name is none, as for AWS's tools.
        let chosen = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].into_iter().find_map(|name| env::var(name).ok());
        let chosen = chosen.filter(|name| !name.is_empty());
        let name = chosen.as_deref().unwrap_or("default");
        let mut profile =
            Self { name: name.to_owned(), is_explicit: chosen.is_some(), values: HashMap::new() };
        // What both have is taken from the second one, as AWS's tools do.
        let mut is_found = false;
        for (variable, file) in
            [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")]
        {
            let usual = || env::home_dir().map(|home| home.join(".aws").join(file));
            let Some(path) = env::var_os(variable).map(PathBuf::from).or_else(usual) else { continue };
            match fs::read(&path) {
                Ok(text) => is_found |= profile.add(&String::from_utf8_lossy(&text), file == "config"),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(Error::from(error).at_path(&path)),
            }
        }
        match chosen {
            Some(name) if !is_found => {
                Err(bad_option(format!("AWS_PROFILE is '{name}', but no file of ~/.aws has such a profile")))
            }
            _ => Ok(profile),
        }
    }

    /// Adds what a file says of the profile, and returns whether it says anything.
    fn add(&mut self, text: &str, is_config: bool) -> bool {
        let (mut is_own, mut is_found) = (false, false);
        for line in text.lines() {
            let line =
                line.split([';', '#']).next().filter(|before| before.trim().is_empty()).map_or(line, |_| "");
            if let Some(section) = line.trim().strip_prefix('[').and_then(|line| line.split_once(']')) {
                let words: Vec<&str> = section.0.split_whitespace().collect();
                // In `config`, all but the default profile are `[profile NAME]`.
                is_own = match words[..] {
                    ["profile", name] if is_config => name == self.name,
                    [name] => name == self.name && (!is_config || name == "default"),
                    _ => false,
                };
                is_found |= is_own;
            } else if let (true, false, Some((key, value))) =
                (is_own, line.starts_with([' ', '\t']), line.split_once('='))
            {
                self.values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
        is_found
    }

    /// Whether the environment names the profile.
    pub(crate) fn is_explicit(&self) -> bool {
        self.is_explicit
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the ID of the key, the key itself and the token of the session, if the profile has credentials.
    ///
    /// # Errors
    ///
    /// `BadOption` if they would have to be fetched in a way that this library does not have.
    pub(crate) fn credentials(&self) -> Result<Option<(&str, &str, Option<&str>)>> {
        if let (Some(id), Some(key)) = (self.get("aws_access_key_id"), self.get("aws_secret_access_key")) {
            return Ok(Some((id, key, self.get("aws_session_token"))));
        }
        let other = ["sso_session", "sso_start_url", "role_arn", "credential_process"].into_iter();
        match other.into_iter().find(|key| self.get(key).is_some()) {
            None => Ok(None),
            Some(key) => Err(bad_option(format!(
                "the profile '{}' gets its credentials by {key}, which is not supported; `aws configure export-credentials --format env` prints them as variables",
                self.name
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n# a comment\n; another\n[profile work]\nregion=us-west-2 \nendpoint_url = https://example.org/#x\ns3 =\n  region = nested\n[profile login]\nsso_session = x\n[work]\nregion = wrong\n";
    const CREDENTIALS: &str = "[work]\naws_access_key_id = ID\naws_secret_access_key = a/b+c=\n[profile default]\naws_access_key_id=wrong\n";

    /// As AWS's documentation describes the files.
    #[test]
    fn profiles_are_read_as_documented_by_aws() {
        let profile = |name: &str| {
            let mut profile = Profile { name: name.into(), ..Profile::default() };
            let found = (profile.add(CONFIG, true), profile.add(CREDENTIALS, false));
            (profile, found)
        };
        let (work, found) = profile("work");
        assert_eq!(found, (true, true));
        assert_eq!(work.credentials().unwrap(), Some(("ID", "a/b+c=", None)));
        assert_eq!(
            (work.get("region"), work.get("endpoint_url")),
            (Some("us-west-2"), Some("https://example.org/#x"))
        );
        let (default, found) = profile("default");
        assert_eq!((found, default.get("region")), ((true, false), Some("eu-west-1")));
        assert_eq!(default.credentials().unwrap(), None);
        assert!(profile("login").0.credentials().unwrap_err().to_string().contains("sso_session"));
        assert_eq!(profile("none").1, (false, false));
    }
}

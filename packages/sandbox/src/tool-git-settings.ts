/**
 * SECURITY: T-12, T-13 — what a guarded git of Tier B is told over every repository's configuration, so that it starts none of
 * these. Keys that carry a name, such as a filter's, cannot be told like that.
 */
export const GIT_SETTINGS: Readonly<Record<string, string>> = {
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.pager': 'cat',
  'core.sshCommand': 'false',
  'core.editor': 'false',
  'gpg.program': 'false',
  'credential.helper': '',
};

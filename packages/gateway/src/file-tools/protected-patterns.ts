import { PROTECTED_NAMES } from '@palyra/sandbox';
import type { ProtectedPattern } from './worker/protected-paths.ts';

/**
 * SECURITY: T-15 — what somebody runs later without looking: git, shells, editors, agents and CI take it from there. The
 * sandbox's list, and what only a file tool can ask about beforehand: git's own files, which the sandbox finds by what a
 * directory holds, and names that commands write every day, which it would have to put back every day.
 */
const RUN_LATER: readonly string[] = [
  ...PROTECTED_NAMES.map(({ name }) => `**/${name.toLowerCase()}`),
  '**/.git',
  '**/*.git/{hooks,config}',
  '**/.gitmodules',
  '**/.pre-commit-config.{yaml,yml}',
  '**/{.lefthook,lefthook}.{yml,yaml,toml,json}',
  '**/.inputrc',
  '**/.config/{environment.d,systemd,autostart}',
  '**/.{vimrc,gdbinit,lldbinit,tmux.conf}',
  '**/.{goose,aider,cline,goosehints}',
  '**/.{amazonq,junie}',
  '**/{agent,codex}.md',
  '**/{.mise,mise}.toml',
  '**/.cargo/config{,.toml}',
  '**/.bazelrc',
  '**/.yarnrc.yml',
  '**/*.code-workspace',
  '**/.palyra',
  '**/palyra.toml',
  '**/*.cedar',
];

const SECRET_SHAPED: readonly string[] = [
  '**/.env*',
  '**/*.{env,pem,key,p12,pfx,jks,keystore,kdbx}',
  '**/id_{rsa,dsa,ecdsa,ed25519}{,_sk}',
  '**/.{npmrc,pypirc,netrc,pgpass,git-credentials,htpasswd,dockercfg}',
  '**/{.vault-token,.terraformrc,.s3cfg,.my.cnf,_netrc,kubeconfig}',
  '**/.config/{gh,gcloud}',
  '**/.docker/config.json',
  '**/.{aws,ssh,gnupg,kube}',
  '**/credentials{,.json,.yml,.yaml,.toml}',
  '**/*service-account*.json',
  '**/secrets.{json,yml,yaml,toml}',
];

/**
 * The list of the threat model, and files that look like secrets; lower case, as names are compared. Those that run code
 * come first: a file that is both is one that a human is asked about each time it would be written.
 */
export const PROTECTED_PATTERNS: readonly ProtectedPattern[] = [
  ...RUN_LATER.map((pattern) => ({ pattern, reason: 'protected', access: 'write' }) as const),
  ...SECRET_SHAPED.map((pattern) => ({ pattern, reason: 'secret', access: 'any' }) as const),
];

import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type AlwaysHereRule, addRule, addRuleTest, removeRule } from '@palyra/policy';
import { GatewayError } from '../gateway-error.ts';
import { makePrivateDirectory, writeDurably } from '../tools/durable-file.ts';
import { absent } from '../tools/kept-blobs.ts';

/** What the two files of a workspace hold; null: the file is not there. */
export interface RuleTexts {
  readonly policies: string | null;
  readonly tests: string | null;
}

/** The files for remembered answers, one pair for each workspace; operators have others of their own. */
export interface RuleFiles {
  /** Throws `gateway.fault` for a workspace that no file can be named after. */
  read(workspace: string): RuleTexts;
  /** Policies first: a test alone would keep the whole set from being used. */
  write(workspace: string, texts: RuleTexts): Promise<void>;
  /** Those that have a file. */
  workspaces(): readonly string[];
}

const SUFFIX = '+always.cedar';

/** `directory` is `$PALYRA_HOME/policies`. Methods throw what the file system says. */
export function createRuleFiles(directory: string): RuleFiles {
  const below = join(directory, 'workspaces');
  const pathsOf = (workspace: string) => ({
    policies: join(below, `${safeName(workspace)}${SUFFIX}`),
    tests: join(below, `${safeName(workspace)}+always.policytest.toml`),
  });
  return {
    read(workspace) {
      const { policies, tests } = pathsOf(workspace);
      return { policies: textOf(policies), tests: textOf(tests) };
    },
    async write(workspace, texts) {
      const paths = pathsOf(workspace);
      await makePrivateDirectory(below);
      const order = texts.policies === null || isShorter(texts, paths) ? BACKWARD : FORWARD;
      for (const name of order) await put(paths[name], texts[name]);
    },
    workspaces() {
      const names = list(below).filter((name) => name.endsWith(SUFFIX));
      return names.map((name) => name.slice(0, -SUFFIX.length));
    },
  };
}

export function withRule({ policies, tests }: RuleTexts, rule: AlwaysHereRule): RuleTexts {
  return { policies: addRule(policies ?? HEADER, rule), tests: addRuleTest(tests ?? '', rule) };
}

/** Files without a rule go away. Throws `policy.invalid_request` when the rule is in neither. */
export function withoutRule({ policies, tests }: RuleTexts, id: string): RuleTexts {
  const left = removeRule(policies ?? '', id);
  const leftTests = tests?.includes(id) === true ? removeRule(tests, id) : tests;
  return { policies: left === HEADER || left === '' ? null : left, tests: leftTests === '' ? null : leftTests };
}

const HEADER = `// What was answered with "always here". palyra grants list shows these rules, palyra grants revoke takes one out.
`;

const FORWARD = ['policies', 'tests'] as const;
const BACKWARD = ['tests', 'policies'] as const;

function isShorter({ policies }: RuleTexts, paths: { readonly policies: string }): boolean {
  return (policies?.length ?? 0) < (textOf(paths.policies)?.length ?? 0);
}

async function put(path: string, text: string | null): Promise<void> {
  if (text === null) await rm(path, { force: true });
  else await writeDurably(path, Buffer.from(text));
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return absent(error) ?? null;
  }
}

function list(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    return absent(error) ?? [];
  }
}

/** SECURITY: T-41 — an id of a workspace may hold a slash; no file outside is ever made of one. */
function safeName(workspace: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/.test(workspace)) return workspace;
  throw new GatewayError('gateway.fault', 'No file of rules can be named after this workspace.', {
    fix: 'Register it under a name without a slash.',
  });
}

import { CONFIG_ERRORS, SECTIONS, type Section, type Setting } from '@palyra/config';

/** docs/reference/config.md, from the schema alone. */
export function renderConfigReference(): string {
  return [INTRODUCTION, ...SECTIONS.map(renderSection), ENVIRONMENT, renderErrors()].join('\n\n').concat('\n');
}

const INTRODUCTION = `<!-- Generated from packages/config/src/schema.ts by \`npm run docs\`; do not edit. -->

# palyra.toml

The settings of Palyra are in \`palyra.toml\` in the home: \`$PALYRA_HOME\`, or \`~/.palyra\`. No file means every default.
\`palyra config init\` writes a file to start from, \`palyra config check\` validates one, \`palyra config show\` shows what is
in force and where each value comes from.

Loading is strict: an unknown key, a wrong type or a value out of range is an error with its line and column, and so is a
file or a home that other users of the machine could change. Nothing is ignored, and nothing changes after the start.`;

function renderSection({ name, description, settings }: Section): string {
  return [`## [${name}]`, description, ...settings.map(renderSetting)].join('\n\n');
}

function renderSetting({ name, key, description, expects, default: initial }: Setting): string {
  return [`### ${key}`, description, `- Takes ${expects}`, `- Default: \`${name} = ${JSON.stringify(initial)}\``]
    .join('\n\n')
    .replace('\n\n- Default', '\n- Default');
}

const ENVIRONMENT = `## The environment

| Variable | Chooses |
|---|---|
| \`PALYRA_HOME\` | the home, and so the file; an absolute path without \`..\` (\`--home DIR\` wins over it) |
| \`PALYRA_LOG\` | \`log.level\` |

No other variable changes a setting. Others that start with \`PALYRA_\` are ignored, and \`palyra config show\` says so.`;

function renderErrors(): string {
  const rows = Object.entries(CONFIG_ERRORS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return ['## Errors', ['| Code | Meaning |', '|---|---|', ...rows].join('\n')].join('\n\n');
}

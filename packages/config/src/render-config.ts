import { stringify } from 'smol-toml';
import { SECTIONS, type Setting, type SettingValue } from './settings.ts';

const LINE_WIDTH = 100;

/** The file `palyra config init` writes: every setting explained, and commented out so that defaults can still change. */
export function renderDefaultConfig(): string {
  const sections = SECTIONS.map((section) => {
    const settings = section.settings.map((setting) => [
      ...comment(describe(setting)),
      `#${pair(setting.name, setting.default)}`,
      '',
    ]);
    return [...comment(section.description), `[${section.name}]`, '', ...settings.flat()];
  });
  const introduction = [
    'Settings of Palyra. A line such as `#name = value` shows a default: take away its # to change it.',
    '`palyra config check` validates this file, `palyra config show` shows the settings in force.',
  ];
  return [...introduction.flatMap(comment), '', ...sections.flat()].join('\n');
}

/** `name = value`, with the value as TOML writes it. */
export function pair(name: string, value: SettingValue): string {
  return stringify({ [name]: value }).trimEnd();
}

/** The value alone. */
export function literal(value: SettingValue): string {
  return pair('v', value).slice('v = '.length);
}

function describe(setting: Setting): string {
  return `${setting.description} ${setting.expects.charAt(0).toUpperCase()}${setting.expects.slice(1)}.`;
}

function comment(text: string): readonly string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > LINE_WIDTH) {
      lines.push(line);
      line = '#';
    }
    line = `${line} ${word}`;
  }
  return [...lines, line];
}

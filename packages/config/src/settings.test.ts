import { expect, test } from 'vitest';
import { parseConfig } from './parse-config.ts';
import { pair } from './render-config.ts';
import { SECTIONS, SETTINGS } from './settings.ts';

test('every section and every setting is described, and has a default', () => {
  const undescribed = [...SECTIONS, ...SETTINGS].filter(({ description }) => !/^[A-Z].*\.$/s.test(description));
  expect(undescribed).toEqual([]);
  expect(SETTINGS.filter((setting) => setting.default === undefined)).toEqual([]);
});

test.each(SETTINGS)('the default of $key is a valid value of it', (setting) => {
  const { config, present } = parseConfig(`[${setting.section}]\n${pair(setting.name, setting.default)}`, 'x');
  expect(config).toEqual(parseConfig('', 'x').config);
  expect(present).toEqual(new Set([setting.key]));
});

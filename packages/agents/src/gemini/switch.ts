import type { JsonObject } from '@palyra/primitives';
import type { HookSwitch } from '../client.ts';
import { listOf } from '../own-rules/listed-rules.ts';
import { isObject } from '../read-fields.ts';
import { rules } from './rules.ts';
import { readCommented } from './settings.ts';

const SETTINGS = (paths: readonly string[]) => paths.filter((path) => path.endsWith('.json'));

/** In the forms of its settings that were there so far: `hooksConfig`, `hooks` and `tools`. */
export const hookSwitch: HookSwitch = {
  places: {
    ofUser: SETTINGS(rules.places.ofUser),
    ofProject: SETTINGS(rules.places.ofProject),
    ofSystem: SETTINGS(rules.places.ofSystem),
  },
  whyOff(text) {
    const settings = readCommented(text);
    for (const name of ['hooksConfig', 'hooks']) {
      if (isOff(settings, name, 'enabled')) return `${name}.enabled`;
      if (listOf(settings, name, 'disabled').some((each) => each.includes('palyra-hook'))) return `${name}.disabled`;
    }
    return isOff(settings, 'tools', 'enableHooks') ? 'tools.enableHooks' : undefined;
  },
};

function isOff(settings: JsonObject, part: string, name: string): boolean {
  const its = settings[part];
  return isObject(its) && its[name] === false;
}

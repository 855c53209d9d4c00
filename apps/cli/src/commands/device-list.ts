import { systemClock, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { deviceAsJson, stateOf } from '../device-output.ts';
import { readingIdentity } from '../identity-home.ts';
import { renderColumns } from '../render/table.ts';

/** Everybody who has a key that counts, or counted. */
export const deviceList: CommandDefinition = {
  name: 'device list',
  group: 'Identity',
  summary: 'List the devices of this home, revoked ones too',
  details: 'Reads the database; palyrad need not run.',
  async run(_input, context) {
    return readingIdentity(context, async (reader, warnings) => {
      const devices = await reader.devices();
      const now = systemClock.now();
      return {
        json: { devices: devices.map(deviceAsJson) },
        render: (paint) => {
          const rows = devices.map((device) => [
            device.id,
            visibleText(device.name),
            device.kind,
            visibleText(device.principal),
            device.roles.join(',') || '-',
            stateOf(device, now),
          ]);
          const [heading = '', ...lines] = renderColumns([
            ['DEVICE', 'NAME', 'KIND', 'PRINCIPAL', 'ROLES', 'STATE'],
            ...rows,
          ]);
          return [paint('title', heading), ...lines, ''].join('\n');
        },
        warnings,
      };
    });
  },
};

import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';

/** Absent stays absent. */
export function optionalTimestamp(ms: number | null | undefined): Timestamp | undefined {
  return ms === null || ms === undefined ? undefined : timestampFromMs(ms);
}

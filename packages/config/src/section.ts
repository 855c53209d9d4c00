import { z } from 'zod';

/** An absent section is an empty one, so that each default stands on its own setting and nowhere else. */
export function section<Shape extends z.ZodRawShape>(
  description: string,
  shape: Shape,
): z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>> {
  return z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>)
    .describe(description);
}

/** Separated by commas; palyrad says at its start what is not one. */
export function listed(expects: string): z.ZodDefault<z.ZodString> {
  return z.string().meta({ expects }).default('');
}

/** Little-endian 32-bit floats in base64, as OpenAI packs them; what is no array of numbers stays as it is. */
export function packVector(vector: unknown): unknown {
  if (!Array.isArray(vector)) return vector
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(Number(value), i * 4)
  return bytes.toString('base64')
}

export function unpackVector(vector: unknown): unknown {
  if (typeof vector !== 'string') return vector
  const bytes = Buffer.from(vector, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(i * 4))
}

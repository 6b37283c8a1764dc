import type { ImagePart } from '#core/call.ts'
import { decodeUrl, encodeUrl } from '../data-url.ts'
import { isObject } from '../json/parse.ts'

/**
 * The images of an answer. The format itself has none; what hosts of models that draw have added is OpenRouter's
 * `images` of a message or a delta (OpenRouter API reference, image generation).
 */
export function decodeImages(images: unknown): ImagePart[] {
  if (!Array.isArray(images)) return []
  return images.flatMap((image): ImagePart[] => {
    const link = isObject(image) ? image.image_url : undefined
    return isObject(link) && typeof link.url === 'string' ? [{ type: 'image', source: decodeUrl(link.url) }] : []
  })
}

/** None for an image that only its vendor can find. */
export function encodeImage({ source }: ImagePart): Record<string, unknown>[] {
  return source.kind === 'file' ? [] : [{ type: 'image_url', image_url: { url: encodeUrl(source) } }]
}

import { Networks } from './networks.ts'

/**
 * What the IANA special-purpose registries (RFC 6890, as of 2026) list for IPv4, and multicast. Networks for anycast
 * services (AS112, AMT, 6to4 relays) are listed too, although they are global: no provider lives there.
 */
export const SPECIAL_IPV4 = Object.freeze([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/**
 * Of IPv6 everything outside global unicast (2000::/3) is special: loopback, mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96,
 * 64:ff9b:1::/48), discard (100::/64), segment routing (5f00::/16), unique local (fc00::/7), link and site local
 * (fe80::/10, fec0::/10), multicast (ff00::/8). It is said by what is global, so that what is assigned tomorrow is not
 * let through today.
 */
export const GLOBAL_UNICAST_IPV6 = '2000::/3'

/** Special within it: protocol assignments with Teredo and ORCHID, documentation, 6to4, AS112. */
export const SPECIAL_IPV6 = Object.freeze(['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'])

const global = new Networks(['0.0.0.0/0', GLOBAL_UNICAST_IPV6])
const special = new Networks([...SPECIAL_IPV4, ...SPECIAL_IPV6])

/** Whether an address is one that anybody on the internet could reach. */
export function isGlobalAddress(address: string): boolean {
  return global.has(address) && !special.has(address)
}

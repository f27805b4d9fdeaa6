export { duration, localTime } from '../journal/times.ts';

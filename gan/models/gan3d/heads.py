"""What an image of a shower says of itself: its energy and its angle, without weights and always in
float32.

A sum of 65,025 cells and a power of 1 / 0.85 do not survive 8 bits of mantissa: in bfloat16 123.4
reads 123.5.
"""

from __future__ import annotations

import math

import tensorflow as tf

EMPTY_ANGLE = 100.0  # radians: reported for an event without energy
_EPSILON = 1e-20  # inside roots and quotients


def cells(image: tf.Tensor, power: float) -> tf.Tensor:
    """The cells whose `power` images [n, x, y, z, 1] hold, float32."""
    image = tf.cast(image, tf.float32)
    return image if power == 1 else tf.pow(image, 1 / power)


def energy(deposited: tf.Tensor) -> tf.Tensor:
    """Sum of all `cells`: [n, x, y, z, 1] -> [n]."""
    return tf.reduce_sum(deposited, [1, 2, 3, 4])


def angle(deposited: tf.Tensor) -> tf.Tensor:
    """The track's angle to the z axis's plane in radians, [n, x, y, z, 1] -> [n]: each layer's
    barycentre against that of the whole event.

    m = (y_mid - y_ref) / sqrt((x_mid - x_ref)^2 + (z - z_ref)^2), its sign turned before z_ref; pi
    / 2 - atan(m), averaged over the layers that are not empty with weight z; places are index +
    0.5. (AngleArch3dGAN, ecal_angle.)
    """
    image = tf.squeeze(deposited, -1)
    x, y, z = (tf.range(size, dtype=tf.float32) + 0.5 for size in image.shape[1:])
    by_layer = tf.reduce_sum(image, [1, 2])  # [n, z]
    whole = tf.reduce_sum(by_layer, 1, keepdims=True)
    along_x = tf.einsum("nxz,x->nz", tf.reduce_sum(image, 2), x)
    along_y = tf.einsum("nyz,y->nz", tf.reduce_sum(image, 1), y)
    x_ref, y_ref, z_ref = (
        tf.math.divide_no_nan(tf.reduce_sum(part, 1, keepdims=True), whole)
        for part in (along_x, along_y, by_layer * z)
    )
    x_mid, y_mid = (tf.math.divide_no_nan(part, by_layer) for part in (along_x, along_y))
    away = tf.sqrt(tf.square(x_mid - x_ref) + tf.square(z - z_ref) + _EPSILON)
    slope = tf.where(z < z_ref, -1.0, 1.0) * (y_mid - y_ref) / away
    weight = tf.where(by_layer > 0, z, 0.0)
    mean = tf.math.divide_no_nan(
        tf.reduce_sum((math.pi / 2 - tf.atan(slope)) * weight, 1), tf.reduce_sum(weight, 1)
    )
    return tf.where(whole[:, 0] > 0, mean, EMPTY_ANGLE)

"""One node uses a pool of 200 MB, the other is recorded with the workspace's own allocator: heapwright report /tmp/listener.hwt"""

from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    return LaunchDescription([
        Node(package="demo_nodes_cpp", executable="talker",
             additional_env={"LD_PRELOAD": "libheapwright-tlsf.so", "HEAPWRIGHT_POOL_SIZE": "200000000"}),
        Node(package="demo_nodes_cpp", executable="listener",
             additional_env={"LD_PRELOAD": "libheapwright-record.so:libmy_allocator.so", "HEAPWRIGHT_OUTPUT": "/tmp/listener.hwt"}),
    ])
